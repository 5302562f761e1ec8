package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

const (
	testIssuer   = "https://issuer.example"
	testAudience = "tiltyard"
)

var testNow = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// issuer signs tokens of any form with keys of every accepted kind.
type issuer struct {
	rsa    *rsa.PrivateKey
	ec     *ecdsa.PrivateKey
	ed     ed25519.PrivateKey
	forger *rsa.PrivateKey // whose public key is in no set
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	is := &issuer{}
	var err error
	if is.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if is.forger, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if is.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if _, is.ed, err = ed25519.GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	return is
}

// keySet is the issuer's public keys, an encryption key and a secret that do not belong.
func (is *issuer) keySet(t testing.TB) []byte {
	t.Helper()
	data, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: is.rsa.Public(), KeyID: "rsa", Use: "sig"},
		{Key: is.ec.Public(), KeyID: "ec", Algorithm: "ES256"},
		{Key: is.ed.Public(), KeyID: "ed"},
		{Key: is.forger.Public(), KeyID: "enc", Use: "enc"},
		{Key: []byte("a shared secret of no issuer"), KeyID: "oct"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (is *issuer) keyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, is.keySet(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sign makes a compact token; header and claims override the good ones, nil removes.
func sign(t testing.TB, alg string, key any, header, claims map[string]any) string {
	t.Helper()
	h := override(map[string]any{"alg": alg, "typ": "at+jwt"}, header)
	c := override(map[string]any{
		"iss": testIssuer, "aud": testAudience, "sub": "ada", "scope": "openid tiltyard:read",
		"iat": testNow.Unix(), "exp": testNow.Add(time.Hour).Unix(),
	}, claims)
	signed := encodePart(t, h) + "." + encodePart(t, c)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature(t, alg, key, signed))
}

func override(base, with map[string]any) map[string]any {
	maps.Copy(base, with)
	maps.DeleteFunc(base, func(_ string, v any) bool { return v == nil })
	return base
}

func encodePart(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func signature(t testing.TB, alg string, key any, signed string) []byte {
	t.Helper()
	digest := sha256.Sum256([]byte(signed))
	var sig []byte
	var err error
	switch key := key.(type) {
	case nil:
	case []byte:
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(signed))
		sig = mac.Sum(nil)
	case ed25519.PrivateKey:
		sig = ed25519.Sign(key, []byte(signed))
	case *ecdsa.PrivateKey:
		r, s, signErr := ecdsa.Sign(rand.Reader, key, digest[:])
		sig, err = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), signErr
	case *rsa.PrivateKey:
		if alg == "PS256" {
			sig, err = rsa.SignPSS(rand.Reader, key, crypto.SHA256, digest[:], nil)
		} else {
			sig, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func newTestJWT(t testing.TB, is *issuer, typ string) *JWT {
	t.Helper()
	v, err := NewJWT(JWTConfig{
		Issuer: testIssuer, Audience: testAudience, Type: typ,
		Now: func() time.Time { return testNow },
	}, FileKeys(is.keyFile(t)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type object = map[string]any

func TestJWTAcceptsValidTokens(t *testing.T) {
	is := newIssuer(t)
	v := newTestJWT(t, is, "at+jwt")
	cases := []struct {
		name           string
		alg            string
		key            any
		header, claims object
		scopes         []string
	}{
		{name: "RS256", alg: "RS256", key: is.rsa, header: object{"kid": "rsa"}},
		{name: "PS256", alg: "PS256", key: is.rsa, header: object{"kid": "rsa"}},
		{name: "ES256", alg: "ES256", key: is.ec, header: object{"kid": "ec"}},
		{name: "EdDSA", alg: "EdDSA", key: is.ed, header: object{"kid": "ed"}},
		{name: "full media type", alg: "RS256", key: is.rsa, header: object{"kid": "rsa", "typ": "application/at+JWT"}},
		{name: "one audience of many", alg: "RS256", key: is.rsa, header: object{"kid": "rsa"}, claims: object{"aud": []string{"other", testAudience}}},
		{name: "expired within the leeway", alg: "RS256", key: is.rsa, header: object{"kid": "rsa"}, claims: object{"exp": testNow.Add(-59 * time.Second).Unix()}},
		{name: "valid soon, within the leeway", alg: "RS256", key: is.rsa, header: object{"kid": "rsa"}, claims: object{"nbf": testNow.Add(59 * time.Second).Unix()}},
		{name: "scp as array", alg: "RS256", key: is.rsa, header: object{"kid": "rsa"}, claims: object{"scope": nil, "scp": []string{"tiltyard:write"}}, scopes: []string{"tiltyard:write"}},
		{name: "scp as words", alg: "RS256", key: is.rsa, header: object{"kid": "rsa"}, claims: object{"scope": nil, "scp": "a tiltyard:write"}, scopes: []string{"a", "tiltyard:write"}},
		{name: "ignored foreign key references", alg: "RS256", key: is.rsa, header: object{"kid": "rsa", "jku": "https://evil.example/keys"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := v.Verify(t.Context(), sign(t, c.alg, c.key, c.header, c.claims))
			if err != nil {
				t.Fatalf("Verify: %v", err)
			}
			want := &Principal{Subject: "ada", Issuer: testIssuer, Scopes: c.scopes}
			if c.scopes == nil {
				want.Scopes = []string{"openid", "tiltyard:read"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("principal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJWTRefusesHostileTokens(t *testing.T) {
	is := newIssuer(t)
	v := newTestJWT(t, is, "at+jwt")
	kid := object{"kid": "rsa"}
	good := sign(t, "RS256", is.rsa, kid, nil)
	parts := strings.Split(good, ".")
	publicPEM := x509.MarshalPKCS1PublicKey(&is.rsa.PublicKey)
	forgerJWK, err := jose.JSONWebKey{Key: is.forger.Public(), KeyID: "rsa"}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	with := func(claims object) string { return sign(t, "RS256", is.rsa, kid, claims) }
	header := func(h object) string { return sign(t, "RS256", is.rsa, h, nil) }
	raw := func(h, c string) string {
		signed := base64.RawURLEncoding.EncodeToString([]byte(h)) + "." + base64.RawURLEncoding.EncodeToString([]byte(c))
		return signed + "." + base64.RawURLEncoding.EncodeToString(signature(t, "RS256", is.rsa, signed))
	}
	cases := []struct{ name, token string }{
		{"empty", ""},
		{"not a token", "hello"},
		{"two parts", parts[0] + "." + parts[1]},
		{"four parts", good + ".x"},
		{"only dots", strings.Repeat(".", 5000)},
		{"too long", good + strings.Repeat("A", maxTokenBytes)},
		{"padded base64", parts[0] + "=." + parts[1] + "." + parts[2]},
		{"spaces inside", parts[0] + ". " + parts[1] + "." + parts[2]},
		{"JSON serialization", `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`},
		{"header is no JSON", "bm90IGpzb24." + parts[1] + "." + parts[2]},
		{"header is an array", "W10." + parts[1] + "." + parts[2]},
		{"alg none", sign(t, "none", nil, kid, nil)},
		{"alg None", sign(t, "None", nil, kid, nil)},
		{"alg missing", sign(t, "RS256", is.rsa, object{"kid": "rsa", "alg": nil}, nil)},
		{"alg HS256 with the public key as secret", sign(t, "HS256", publicPEM, kid, nil)},
		{"alg HS256 with the secret of the set", sign(t, "HS256", []byte("a shared secret of no issuer"), object{"kid": "oct"}, nil)},
		{"alg RS512", sign(t, "RS512", is.rsa, kid, nil)},
		{"alg of another key type", sign(t, "ES256", is.ec, kid, nil)},
		{"alg RS256 on the EC key", sign(t, "RS256", is.rsa, object{"kid": "ec"}, nil)},
		{"signature empty", parts[0] + "." + parts[1] + "."},
		{"signature of another payload", parts[0] + "." + encodePart(t, object{"sub": "root"}) + "." + parts[2]},
		{"signature by a stranger", sign(t, "RS256", is.forger, kid, nil)},
		{"signature by an encryption key", sign(t, "RS256", is.forger, object{"kid": "enc"}, nil)},
		{"key brought along", sign(t, "RS256", is.forger, object{"kid": "rsa", "jwk": json.RawMessage(forgerJWK)}, nil)},
		{"kid unknown", header(object{"kid": "rsa2"})},
		{"kid missing among many", header(nil)},
		{"kid a path", header(object{"kid": "../../dev/null"})},
		{"kid a number", header(object{"kid": 1})},
		{"crit unknown", header(object{"kid": "rsa", "crit": []string{"exp2"}, "exp2": 1})},
		{"typ missing", header(object{"kid": "rsa", "typ": nil})},
		{"typ of an id token", header(object{"kid": "rsa", "typ": "JWT"})},
		{"typ a number", header(object{"kid": "rsa", "typ": 1})},
		{"iss missing", with(object{"iss": nil})},
		{"iss of another", with(object{"iss": "https://evil.example"})},
		{"iss with a slash more", with(object{"iss": testIssuer + "/"})},
		{"aud missing", with(object{"aud": nil})},
		{"aud of another", with(object{"aud": "other"})},
		{"aud almost ours", with(object{"aud": "tiltyard2"})},
		{"aud an object", with(object{"aud": object{"x": testAudience}})},
		{"exp missing", with(object{"exp": nil})},
		{"exp passed", with(object{"exp": testNow.Add(-61 * time.Second).Unix()})},
		{"exp a word", with(object{"exp": "tomorrow"})},
		{"exp beyond numbers", raw(`{"alg":"RS256","typ":"at+jwt","kid":"rsa"}`, `{"iss":"`+testIssuer+`","aud":"tiltyard","sub":"ada","exp":1e400}`)},
		{"nbf in the future", with(object{"nbf": testNow.Add(61 * time.Second).Unix()})},
		{"iat in the future", with(object{"iat": testNow.Add(2 * time.Minute).Unix()})},
		{"sub missing", with(object{"sub": nil})},
		{"sub a number", with(object{"sub": 7})},
		{"scope a number", with(object{"scope": 7})},
		{"scp an object", with(object{"scp": object{}})},
		{"claims an array", raw(`{"alg":"RS256","typ":"at+jwt","kid":"rsa"}`, `[]`)},
		{"claims said twice", raw(`{"alg":"RS256","typ":"at+jwt","kid":"rsa"}`, `{"iss":"x","iss":"`+testIssuer+`","aud":"tiltyard","sub":"ada","exp":9999999999}`)},
		{"claims nested deep", raw(`{"alg":"RS256","typ":"at+jwt","kid":"rsa"}`, `{"a":`+strings.Repeat("[", 2000))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := v.Verify(t.Context(), c.token)
			if err == nil {
				t.Fatalf("Verify = %+v, want an error", got)
			}
			if code := protocol.CodeOf(err); code != protocol.Unauthenticated {
				t.Errorf("code = %v, want Unauthenticated (%v)", code, err)
			}
			if len(c.token) > 20 && strings.Contains(err.Error(), c.token) {
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
}

func TestJWTNeedsIssuerAndAudience(t *testing.T) {
	for _, config := range []JWTConfig{{Issuer: "x"}, {Audience: "x"}} {
		if _, err := NewJWT(config, FileKeys("unused")); err == nil {
			t.Errorf("NewJWT(%+v) succeeded, want an error", config)
		}
	}
}

func FuzzJWT(f *testing.F) {
	is := newIssuer(f)
	v := newTestJWT(f, is, "")
	f.Add(sign(f, "RS256", is.forger, object{"kid": "rsa"}, nil))
	f.Add(sign(f, "none", nil, nil, nil))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := v.Verify(t.Context(), token); err == nil {
			t.Fatalf("Verify(%q) = %+v, want an error", token, p)
		}
	})
}

func TestAuthorizeByScope(t *testing.T) {
	read, _ := operations.Lookup("QueryTable")
	write, _ := operations.Lookup("DropTable")
	cases := []struct {
		scopes    []string
		operation protocol.Operation
		want      bool
	}{
		{nil, read, false},
		{nil, write, false},
		{[]string{"openid", "other:write"}, read, false},
		{[]string{ScopeRead}, read, true},
		{[]string{ScopeRead}, write, false},
		{[]string{ScopeWrite}, read, true},
		{[]string{ScopeWrite}, write, true},
		{[]string{"TILTYARD:WRITE"}, write, false},
	}
	for _, c := range cases {
		err := Authorize(&Principal{Subject: "ada", Scopes: c.scopes}, c.operation)
		if got := err == nil; got != c.want {
			t.Errorf("Authorize(%v, %s) = %v, want allowed = %v", c.scopes, c.operation.Name, err, c.want)
		}
		if err != nil && protocol.CodeOf(err) != protocol.PermissionDenied {
			t.Errorf("Authorize(%v, %s): code %v, want PermissionDenied", c.scopes, c.operation.Name, protocol.CodeOf(err))
		}
	}
}

func TestPrincipalTravelsInTheContext(t *testing.T) {
	if p := FromContext(t.Context()); p != nil {
		t.Errorf("FromContext of a bare context = %v, want nil", p)
	}
	want := &Principal{Subject: "ada", Scopes: slices.Clone([]string{ScopeRead})}
	if got := FromContext(NewContext(t.Context(), want)); got != want {
		t.Errorf("FromContext = %v, want %v", got, want)
	}
}
