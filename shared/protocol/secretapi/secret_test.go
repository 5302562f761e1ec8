package secretapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"tiltyard/shared/protocol/secretapi"
)

func TestConcealedTextIsNeverShown(t *testing.T) {
	const value = "canary"
	req := &secretapi.WriteRequest{Value: value}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		fmt.Fprintf(&shown, verb, req)
		fmt.Fprintf(&shown, verb, req.Value)
		fmt.Fprintf(&shown, verb, []secretapi.Concealed{req.Value})
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
		slog.New(handler).Info("m", "request", req, "value", req.Value)
	}
	if err := json.NewEncoder(&shown).Encode(req); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{value, fmt.Sprintf("%x", value), fmt.Sprintf("%X", value)} {
		if strings.Contains(shown.String(), form) {
			t.Errorf("shown as %q: %s", form, &shown)
		}
	}
	var read secretapi.WriteRequest
	if err := json.Unmarshal([]byte(`{"value":"canary"}`), &read); err != nil || string(read.Value) != value {
		t.Errorf("reading it fails: %v", err)
	}
}

func TestSecretsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"a", "v", true},
		{"openai-prod_1.key", "v", true},
		{strings.Repeat("a", 255), strings.Repeat("v", 64<<10), true},
		{strings.Repeat("a", 256), "v", false},
		{strings.Repeat("-", 85), "v", true},
		{strings.Repeat("-", 86), "v", false},
		{"a b", "v", false},
		{"a/b", "v", false},
		{"ä", "v", false},
		{"a", "", false},
		{"a", strings.Repeat("canary", 64<<10), false},
	} {
		req := &secretapi.WriteRequest{Value: secretapi.Concealed(c.value)}
		req.ID = []string{"n", c.name}
		err := req.Validate()
		if (err == nil) != c.ok || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%.40q with a value of %d bytes: got %v, want it accepted: %v", c.name, len(c.value), err, c.ok)
		}
	}
}
