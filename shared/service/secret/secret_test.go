package secret_test

import (
	"errors"
	"strings"
	"testing"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/secretapi"
	"tiltyard/shared/service/secret"
	"tiltyard/shared/service/servicetest"
)

// A deployment without keys says which setting it lacks, and still lists and drops what is there.
func TestSecretsNeedKeys(t *testing.T) {
	house := servicetest.Open(t)
	service := secret.New(house.Names, nil)
	write := &secretapi.WriteRequest{Request: secretapi.Request{Common: servicetest.Named("s")}, Value: "v"}
	for name, call := range map[string]func() error{
		"create": func() error { _, err := service.Create(t.Context(), write); return err },
		"alter":  func() error { _, err := service.Alter(t.Context(), write); return err },
	} {
		var known *protocol.Error
		if err := call(); !errors.As(err, &known) || known.Code != protocol.Unsupported || !strings.Contains(known.Detail, "TILTYARD_SECRETS") {
			t.Errorf("%s: got %v, want Unsupported that names the setting", name, err)
		}
	}
	if err := house.Names.Secrets.Create(t.Context(), []string{"s"}, secretbox.Sealed{}); err != nil {
		t.Fatal(err)
	}
	listed, err := service.List(t.Context(), &secretapi.ListRequest{})
	if err != nil || len(listed.Secrets) != 1 || listed.Secrets[0].Name != "s" {
		t.Errorf("got %+v, %v", listed, err)
	}
	if _, err := service.Drop(t.Context(), &write.Request); err != nil {
		t.Error(err)
	}
}
