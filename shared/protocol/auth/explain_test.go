package auth

import (
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/accessapi"
)

// Without policies the scopes of a token decide about each operation.
func TestScopesAreExplained(t *testing.T) {
	reader := &Principal{Subject: "ada", Scopes: []string{ScopeRead}}
	ctx := NewContext(t.Context(), reader)
	if MayExplainOthers(ctx) || !MayExplainOthers(NewContext(ctx, &Principal{Scopes: []string{ScopeWrite}})) {
		t.Error("want only the scope to write to make an administrator")
	}
	found := Explain(ctx, reader, Table([]string{"t"}))
	if found.ByPolicies || !found.Visible || len(found.Decisions) < 40 {
		t.Fatalf("got %+v", found)
	}
	for _, d := range found.Decisions {
		if d.Allowed != (d.Access == protocol.Read) {
			t.Errorf("%s, an operation to %s, is allowed: %v", d.Operation, d.Access, d.Allowed)
		}
	}
}

func TestPoliciesAreNamedByTheirAnnotations(t *testing.T) {
	p := &Principal{Subject: "ada"}
	access, err := policiesOf("@id(\"all\")\npermit (principal, action, resource);\npermit (principal, action == Action::\"QueryTable\", resource);").Access(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Explain(WithAccess(t.Context(), access), p, Table([]string{"t"})).Decisions {
		want := []accessapi.DecidingPolicy{{ID: "all", Effect: "permit", Line: 1}}
		if d.Operation == "QueryTable" {
			want = append(want, accessapi.DecidingPolicy{ID: "policy1", Effect: "permit", Line: 3})
		}
		if !d.Allowed || len(d.Policies) != len(want) || d.Policies[0] != want[0] || d.Policies[len(want)-1] != want[len(want)-1] {
			t.Errorf("%s: got %+v, want %+v", d.Operation, d.Policies, want)
		}
	}
}
