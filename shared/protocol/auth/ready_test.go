package auth

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestReadyFetchesKeysUnlessThereAreSome(t *testing.T) {
	asked, failure := 0, error(nil)
	answer := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`
	keys := &KeySet{fetch: func(context.Context) ([]byte, error) { asked++; return []byte(answer), failure }}
	now := time.Unix(1000, 0)
	jwt, err := NewJWT(JWTConfig{Issuer: "i", Audience: "a", Now: func() time.Time { return now }}, keys)
	if err != nil {
		t.Fatal(err)
	}
	static, err := NewStatic("token", "a-token-of-some-length")
	if err != nil {
		t.Fatal(err)
	}
	verifier := Chain{static, jwt}
	failure = errors.New("no route")
	if err := Ready(t.Context(), verifier); !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
	now, failure = now.Add(refreshPause), nil
	for range 2 {
		if err := Ready(t.Context(), verifier); err != nil {
			t.Errorf("got %v, want none", err)
		}
	}
	if asked != 2 {
		t.Errorf("keys were asked for %d times, want 2", asked)
	}
	if err := Ready(t.Context(), Chain{static}); err != nil {
		t.Errorf("a token that is configured: %v", err)
	}
}
