package vending

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStaticVendsWhatItWasGiven(t *testing.T) {
	s, err := ParseStatic(strings.NewReader(`{"aws_access_key_id":"k","aws_secret_access_key":"s"}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := s.Vend(t.Context(), Request{})
		if diff := cmp.Diff(map[string]string{"aws_access_key_id": "k", "aws_secret_access_key": "s"}, got); diff != "" || err != nil {
			t.Errorf("options (-want +got), %v:\n%s", err, diff)
		}
		clear(got) // is ours
	}
	for _, text := range []string{"", "{}", `{"secret":1}`, `["secret"]`} {
		if _, err := ParseStatic(strings.NewReader(text)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseStatic(%s): %v, want an error that repeats nothing", text, err)
		}
	}
}
