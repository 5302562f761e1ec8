package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"tiltyard/shared/protocol"
)

func mustJWK(t *testing.T, is *issuer) []byte {
	t.Helper()
	data, err := jose.JSONWebKey{Key: is.rsa.Public(), KeyID: "only"}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func hashOf(key string) string {
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:])
}

func TestAPIKeysAreKnownByTheirHashes(t *testing.T) {
	keys, err := ParseAPIKeys(strings.NewReader("# ours\n\nada " + hashOf("secret-a") + "\ngrace   " + hashOf("secret-b") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for token, subject := range map[string]string{"secret-a": "key:ada", "secret-b": "key:grace"} {
		p, err := keys.Verify(t.Context(), token)
		if err != nil || p.Subject != subject {
			t.Errorf("Verify(%s) = %v, %v; want %s", token, p, err, subject)
		}
	}
	for _, token := range []string{"", "secret", "secret-a ", hashOf("secret-a"), strings.Repeat("a", maxTokenBytes+1)} {
		if _, err := keys.Verify(t.Context(), token); protocol.CodeOf(err) != protocol.Unauthenticated {
			t.Errorf("Verify(%.20q): %v, want Unauthenticated", token, err)
		}
	}
}

func TestAPIKeyFilesThatAreRefused(t *testing.T) {
	for _, text := range []string{"ada", "ada zz", "ada " + hashOf("x")[2:], hashOf("x"), "ada " + hashOf("x") + "\nada " + hashOf("y")} {
		if _, err := ParseAPIKeys(strings.NewReader(text)); err == nil {
			t.Errorf("ParseAPIKeys(%q) succeeded, want an error", text)
		}
	}
}

func TestStaticToken(t *testing.T) {
	if _, err := NewStatic("local", ""); err == nil {
		t.Error("NewStatic with an empty token succeeded, want an error")
	}
	v, err := NewStatic("local", "t0ken")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := v.Verify(t.Context(), "t0ken"); err != nil || p.String() != "local" {
		t.Errorf("Verify = %v, %v; want local", p, err)
	}
	for _, token := range []string{"", "t0ke", "t0ken2", "T0KEN"} {
		if _, err := v.Verify(t.Context(), token); protocol.CodeOf(err) != protocol.Unauthenticated {
			t.Errorf("Verify(%q): %v, want Unauthenticated", token, err)
		}
	}
}

func TestVerifiersKnowATokenIfAnyOfThemDoes(t *testing.T) {
	is := newIssuer(t)
	static, err := NewStatic("local", "t0ken")
	if err != nil {
		t.Fatal(err)
	}
	working := newTestJWT(t, is, "")
	broken, err := NewJWT(JWTConfig{Issuer: testIssuer, Audience: testAudience}, &KeySet{
		fetch: func(context.Context) ([]byte, error) { return nil, errors.New("gone") },
	})
	if err != nil {
		t.Fatal(err)
	}
	good := sign(t, "RS256", is.rsa, object{"kid": "rsa"}, nil)
	foreign := sign(t, "RS256", is.rsa, object{"kid": "rsa"}, object{"iss": "https://evil.example"})
	cases := []struct {
		name  string
		chain Chain
		token string
		want  string // the principal or the error
	}{
		{"nobody", nil, "t0ken", "the token is not known"},
		{"second", Chain{working, static}, "t0ken", "local"},
		{"first", Chain{working, static}, good, testIssuer + "#ada"},
		{"refusal of the JWT verifier says most", Chain{working, static}, foreign, "the token is of another issuer"},
		{"unknown key", Chain{working, static}, "other", "the token is not known"},
		{"one cannot find out", Chain{broken, static}, good, "cannot be had"},
		{"known although another cannot find out", Chain{broken, static}, "t0ken", "local"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := c.chain.Verify(t.Context(), c.token)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = p.String()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A key that its file no longer has is refused a minute later, and a file that is out of reach counts
// for a while.
func TestFetchedAPIKeysCanBeTakenBack(t *testing.T) {
	text, failure := "ada "+hashOf("secret-a"), error(nil)
	c := &clock{now: testNow}
	keys := OpenAPIKeys(func(context.Context) ([]byte, error) { return []byte(text), failure }, c.Now)
	steps := []struct {
		name    string
		after   time.Duration
		text    string
		failure error
		want    protocol.Code // 0: the key is known
	}{
		{"at first", 0, text, nil, 0},
		{"taken back a moment ago", fetchedAge - time.Second, "", nil, 0},
		{"taken back a minute ago", time.Second, "", nil, protocol.Unauthenticated},
		{"given again", fetchedAge, text, nil, 0},
		{"out of reach", fetchedAge, "", errors.New("down"), 0},
		{"malformed for long", fetchedLast, "ada", nil, protocol.ServiceUnavailable},
	}
	for _, s := range steps {
		c.now, text, failure = c.now.Add(s.after), s.text, s.failure
		_, err := keys.Verify(t.Context(), "secret-a")
		if got := protocol.CodeOf(err); err != nil && got != s.want || err == nil && s.want != 0 {
			t.Errorf("%s: got %v, want %v", s.name, err, s.want)
		}
		if err := Ready(t.Context(), keys); (err != nil) != (s.want == protocol.ServiceUnavailable) {
			t.Errorf("%s: Ready returned %v", s.name, err)
		}
	}
}

func TestTenantsOfPrincipals(t *testing.T) {
	for want, p := range map[string]*Principal{
		"acme":               {Subject: "key:acme/ci"},
		"bolt":               {Subject: "key:bolt"},
		"token":              {Subject: TokenSubject},
		"https://i#key:a/b":  {Subject: "key:a/b", Issuer: "https://i"},
		"cord":               {Subject: "ada", Issuer: "https://i", Claim: "cord"},
		"https://i#somebody": {Subject: "somebody", Issuer: "https://i"},
	} {
		if got := p.Tenant(); got != want {
			t.Errorf("%v: got %q, want %q", p, got, want)
		}
	}
}

func TestTenantsOfTokens(t *testing.T) {
	for text, want := range map[string]string{`{}`: "", `{"tenant": "acme"}`: "acme", `{"tenant": ["acme"]}`: "acme", `{"tenant": ["a", "b"]}`: "", `{"tenant": {"id": 7}}`: ""} {
		var c claims
		if err := json.Unmarshal([]byte(text), &c); err != nil || c.tenant() != want {
			t.Errorf("%s: got %q, %v, want %q", text, c.tenant(), err, want)
		}
	}
}
