package udfcall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/outage"
)

// leaky is a caller that shows what it knows.
type leaky struct{ udf.Caller }

func (leaky) Call(context.Context, arrow.RecordBatch) (udf.Result, error) {
	return udf.Result{Failed: []udf.Failure{{Type: "canary", Message: "the key canary-long and canary"}}}, errors.New("sent canary")
}

func (leaky) Close() error { return errors.New("closed canary") }

// A secret whose keys are out of reach has nothing wrong with it.
func TestSecretsWhileKeysAreOutOfReach(t *testing.T) {
	if err := cannotOpen("V", "s", outage.Busy("KMS", errors.New("no answer"))); outage.Of(err) == nil || protocol.CodeOf(err) != protocol.Internal {
		t.Errorf("got %v, want the outage", err)
	}
	if err := cannotOpen("V", "s", errors.New("another key")); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("got %v, want InvalidInput", err)
	}
}

// No value of a secret gets out by an error or a failure, also where one value is a part of another.
func TestValuesOfSecretsAreMasked(t *testing.T) {
	m := &masked{leaky{}, udf.NewConcealer("canary-long", "canary", "")}
	result, err := m.Call(t.Context(), nil)
	if err == nil || err.Error() != "sent ***" {
		t.Errorf("got error %v", err)
	}
	if f := result.Failed[0]; f.Type != "***" || f.Message != "the key *** and ***" {
		t.Errorf("got %+v", f)
	}
	for name, told := range map[string]*protocol.Error{
		"everywhere": {Message: "a canary", Detail: "canary", Logged: "canary", Object: "canary", Err: errors.New("canary")},
		"the cause":  {Message: "a message", Err: errors.New("canary")}, "the detail": {Message: "a message", Detail: "canary"},
		"the log": {Message: "a message", Logged: "canary"}, "the object": {Object: "canary"},
	} {
		told.Code = protocol.ServiceUnavailable
		for _, err := range []error{told, fmt.Errorf("call: %w", told), errors.Join(told, errors.New("canary"))} {
			got := mask(err, m.conceal)
			var known *protocol.Error
			if !errors.As(got, &known) || known.Code != told.Code || strings.Contains(fmt.Sprintf("%v %+v", got, *known), "canary") {
				t.Errorf("%s: got %v, want the code without values", name, got)
			}
		}
	}
	if err := m.Close(); err == nil || err.Error() != "closed ***" {
		t.Errorf("got error %v", err)
	}
	if other := context.Canceled; !errors.Is(mask(other, m.conceal), other) {
		t.Error("an error without values is another one")
	}
}
