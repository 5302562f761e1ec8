package auth_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// Principals keep the rights that they have now, and none without credentials.
func TestRightsOfPrincipalsWithoutToken(t *testing.T) {
	text := `permit (principal in Group::"g", action in Action::"read", resource == Table::"t");`
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) { return []byte(text), nil }, time.Now)
	keys, err := auth.ParseAPIKeys(strings.NewReader("there " + strings.Repeat("0", 64)))
	if err != nil {
		t.Fatal(err)
	}
	static, err := auth.NewStatic(auth.TokenSubject, "x")
	if err != nil {
		t.Fatal(err)
	}
	jwt, err := auth.NewJWT(auth.JWTConfig{Issuer: "iss", Audience: "a"}, auth.FileKeys("none"))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{auth.ScopeWrite}
	for _, test := range []struct {
		name           string
		verifier       auth.Verifier
		policies       *auth.Policies
		who            *auth.Principal
		accepted, read bool
	}{
		{"scopes", nil, nil, &auth.Principal{Subject: "s", Scopes: all}, true, true},
		{"no scopes", nil, nil, &auth.Principal{Subject: "s"}, true, false},
		{"unknown without policies", nil, nil, nil, true, true},
		{"unknown", nil, policies, nil, false, false},
		{"policies", nil, policies, &auth.Principal{Subject: "s", Groups: []string{"g"}}, true, true},
		{"policies and scopes", nil, policies, &auth.Principal{Subject: "s", Scopes: all}, true, false},
		{"key", auth.Chain{static, keys}, nil, &auth.Principal{Subject: "key:there", Scopes: all}, true, true},
		{"key that is gone", auth.Chain{static, keys}, nil, &auth.Principal{Subject: "key:gone", Scopes: all}, false, false},
		{"token", auth.Chain{static, keys}, nil, &auth.Principal{Subject: auth.TokenSubject, Scopes: all}, true, true},
		{"token that is none", auth.Chain{keys}, nil, &auth.Principal{Subject: auth.TokenSubject, Scopes: all}, false, false},
		{"issuer", auth.Chain{keys, jwt}, nil, &auth.Principal{Subject: "s", Issuer: "iss", Scopes: all}, true, true},
		{"another issuer", auth.Chain{keys, jwt}, nil, &auth.Principal{Subject: "s", Issuer: "other", Scopes: all}, false, false},
		{"another issuer with the name of a key", auth.Chain{keys, jwt}, nil, &auth.Principal{Subject: "key:there", Issuer: "other", Scopes: all}, false, false},
	} {
		as, err := auth.Rights{Verifier: test.verifier, Policies: test.policies}.As(t.Context(), test.who)
		if accepted := err == nil; accepted != test.accepted || !accepted && !protocol.HasCode(err, protocol.PermissionDenied) {
			t.Errorf("%s: %v, want accepted: %v", test.name, err, test.accepted)
			continue
		}
		if err == nil {
			if read := auth.CheckReads(as, []string{"t"}) == nil; read != test.read {
				t.Errorf("%s: reads %v, want %v", test.name, read, test.read)
			}
		}
	}
}
