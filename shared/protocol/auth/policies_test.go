package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/protocol"
)

// policiesOf are policies of one text.
func policiesOf(text string) *Policies {
	return OpenPolicies(func(context.Context) ([]byte, error) { return []byte(text), nil }, time.Now)
}

func TestPoliciesSpeakOfClaimsActionsAndObjects(t *testing.T) {
	ada := &Principal{Subject: "ada", Issuer: "iss", Groups: []string{"Data Team"}, Roles: []string{"owner"}, Scopes: []string{"custom"}}
	key := &Principal{Subject: "key:ci"}
	table, deep := Table([]string{"a", "b", "t"}), Namespace([]string{"a", "b"})
	cases := []struct {
		policy    string
		principal *Principal
		action    string
		object    Object
		want      bool
	}{
		{``, ada, "DescribeTable", table, false},
		{`permit (principal, action, resource);`, ada, "DropTable", table, true},
		{`permit (principal == User::"iss#ada", action, resource);`, ada, "DropTable", table, true},
		{`permit (principal == User::"ada", action, resource);`, ada, "DropTable", table, false},
		{`permit (principal == User::"key:ci", action, resource);`, key, "DropTable", table, true},
		{`permit (principal in Group::"Data Team", action, resource);`, ada, "DropTable", table, true},
		{`permit (principal in Role::"owner", action, resource);`, ada, "DropTable", table, true},
		{`permit (principal in Scope::"custom", action, resource);`, ada, "DropTable", table, true},
		{`permit (principal in Group::"owner", action, resource);`, ada, "DropTable", table, false},
		{`permit (principal, action, resource) when { principal.issuer == "iss" && principal.subject == "ada" };`, ada, "DropTable", table, true},
		{`permit (principal, action in Action::"read", resource);`, ada, "DescribeTable", table, true},
		{`permit (principal, action in Action::"read", resource);`, ada, "DropTable", table, false},
		{`permit (principal, action in Action::"write", resource);`, ada, "DescribeTable", table, false},
		{`permit (principal, action in Action::"query", resource);`, ada, "CountTableRows", table, true},
		{`permit (principal, action in Action::"query", resource);`, ada, "DescribeTable", table, false},
		{`permit (principal, action, resource in Namespace::"a");`, ada, "DropTable", table, true},
		{`permit (principal, action, resource in Namespace::"$");`, ada, "DropTable", table, true},
		{`permit (principal, action, resource in Namespace::"a$b");`, ada, "DescribeNamespace", deep, true},
		{`permit (principal, action, resource in Namespace::"a$b$t");`, ada, "DropTable", table, false},
		{`permit (principal, action, resource in Namespace::"b");`, ada, "DropTable", table, false},
		{`permit (principal, action, resource == Namespace::"a$b$t");`, ada, "DropTable", table, false},
		{`permit (principal, action, resource is Table in Namespace::"a") when { resource.name like "t*" };`, ada, "DropTable", table, true},
		{`permit (principal, action, resource) when { resource.name == "b" };`, ada, "DropTable", table, false},
		{`permit (principal, action, resource); forbid (principal, action == Action::"DropTable", resource);`, ada, "DropTable", table, false},
		{`permit (principal, action, resource in Location::"s3://bucket/landing");`, ada, useLocation, Location("s3://bucket/landing/x/t.lance"), true},
		{`permit (principal, action, resource in Location::"s3://bucket/landing");`, ada, useLocation, Location("s3://bucket/landing2/t.lance"), false},
		{`permit (principal, action, resource in Location::"s3://bucket");`, ada, useLocation, Location("s3://bucket/landing/t.lance"), true},
		{`permit (principal, action, resource in Namespace::"$");`, ada, useLocation, Location("s3://bucket/landing/t.lance"), false},
		{`permit (principal, action in Action::"write", resource);`, ada, useLocation, Location("file:///srv/t.lance"), true},
	}
	for _, c := range cases {
		access, err := policiesOf(c.policy).Access(t.Context(), c.principal)
		if err != nil {
			t.Fatalf("%s: %v", c.policy, err)
		}
		if got := access.permits(c.action, c.object); got != c.want {
			t.Errorf("%s\nlets %s do %s on %s: %v, want %v", c.policy, c.principal, c.action, c.object.uid(), got, c.want)
		}
	}
}

func TestPoliciesThatAreMissingHideNothing(t *testing.T) {
	for name, ctx := range map[string]context.Context{"no request": t.Context(), "unlimited": Unlimited(t.Context())} {
		if Limited(ctx) || !Sees(ctx, Table([]string{"t"})) || !Permits(ctx, "DropTable", Table([]string{"t"})) {
			t.Errorf("%s is limited", name)
		}
	}
}

// Policies that cannot be had decide nothing: neither do they allow, nor do they hide.
func TestPoliciesAreReadAgainAndFailClosed(t *testing.T) {
	text, failure := `permit (principal, action, resource);`, error(nil)
	fetches, c := 0, &clock{now: testNow}
	policies := OpenPolicies(func(context.Context) ([]byte, error) {
		fetches++
		return []byte(text), failure
	}, c.Now)
	allows := func() (bool, protocol.Code) {
		access, err := policies.Access(t.Context(), &Principal{Subject: "ada"})
		if err != nil {
			return false, protocol.CodeOf(err)
		}
		return access.permits("DropTable", Table([]string{"t"})), 0
	}
	steps := []struct {
		name    string
		after   time.Duration
		text    string
		failure error
		want    bool
		code    protocol.Code
		fetches int
	}{
		{"at first", 0, text, nil, true, 0, 1},
		{"changed a moment ago", fetchedAge - time.Second, ``, nil, true, 0, 1},
		{"changed a minute ago", time.Second, ``, nil, false, 0, 2},
		{"changed back", fetchedAge, text, nil, true, 0, 3},
		{"out of reach", fetchedAge, text, errors.New("down"), true, 0, 4},
		{"a moment later", time.Second, text, errors.New("down"), true, 0, 4},
		{"broken", refreshPause, `permit (`, nil, true, 0, 5},
		{"too long", refreshPause, strings.Repeat(" ", maxFetchedBytes+1), nil, true, 0, 6},
		{"broken for long", fetchedLast, `permit (`, nil, false, protocol.ServiceUnavailable, 7},
		{"mended", refreshPause, text, nil, true, 0, 8},
	}
	for _, s := range steps {
		c.now, text, failure = c.now.Add(s.after), s.text, s.failure
		if got, code := allows(); got != s.want || code != s.code || fetches != s.fetches {
			t.Errorf("%s: allowed %v, code %v after %d fetches, want %v, %v after %d", s.name, got, code, fetches, s.want, s.code, s.fetches)
		}
	}
}

func TestClaimsOfGroupsAreTakenAsTheyCome(t *testing.T) {
	is := newIssuer(t)
	v := newTestJWT(t, is, "")
	for _, c := range []struct {
		claim any
		want  string
	}{
		{[]string{"a b", "c"}, "a b,c"}, {"a b", "a b"}, {nil, ""}, {7, ""}, {object{"x": 1}, ""}, {[]any{"a", 1, object{}}, "a"},
	} {
		p, err := v.Verify(t.Context(), sign(t, "RS256", is.rsa, object{"kid": "rsa"}, object{"groups": c.claim, "roles": c.claim}))
		if err != nil {
			t.Errorf("groups %v: %v", c.claim, err)
			continue
		}
		if groups, roles := strings.Join(p.Groups, ","), strings.Join(p.Roles, ","); groups != c.want || roles != c.want {
			t.Errorf("groups %v: got %q and %q, want %q", c.claim, groups, roles, c.want)
		}
	}
}
