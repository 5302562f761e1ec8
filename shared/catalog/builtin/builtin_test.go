package builtin_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/builtin"
)

// Views and columns keep the digests of the functions that computed them: with another one, they would be computed
// again by every deployment.
func TestDigestsStay(t *testing.T) {
	want := map[string]string{
		"html_text":       "sha256:f2e2d5bfedd6b1c259c38cd22009cf66e7bf456b28c576e2eae8797fbd42f255",
		"json_rows":       "sha256:f4728dcd0f08593302a88883dd22a802b59c3b59badbce23acccc8bdfec97508",
		"normalize_l2":    "sha256:fc86b6350472a85e108d022f03b2e2c377eb90328ab1b419b2b8dfd1e3e73587",
		"sha256":          "sha256:c0f16e5f5d1dd57938564cb0261092d3ffda3561f6da4069a4dfd2aa8eb57bac",
		"split_lines":     "sha256:932c6c7d39e94e8c84978df1f93039ca027b5060c9e351654cd803af19545ac2",
		"split_markdown":  "sha256:e26528df7a32739037eebb4d70f13bfcd01fc9f7a32b29b715630a932451e73d",
		"split_sentences": "sha256:b03679c554670fa9f420b86e9918a6a45f5b26071fa8134239544f1e9ee7bf52",
		"split_text":      "sha256:337ec3b6553314f21f56613daf62f059299b625989be431a38a9f43cc8d001f7",
		"truncate_vector": "sha256:e8014876cb213b7d4beae46888edc67ed6e2b3aaf168d4c1d7e98827ebaf1c57",
	}
	got := map[string]string{}
	for _, name := range builtin.Names("") {
		f, err := builtin.Find([]string{builtin.Namespace, name})
		if err != nil || f == nil || len(f.Versions) != 1 {
			t.Fatalf("%s: got %+v, error %v, want one version", name, f, err)
		}
		got[name] = f.Versions[0].Digest
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
}

func TestNamesArePages(t *testing.T) {
	names := builtin.Names("")
	if !slices.IsSorted(names) || len(names) == 0 {
		t.Errorf("the names are %v, want them in their order", names)
	}
	for i, name := range names {
		if got := builtin.Names(name); !slices.Equal(names[i+1:], got) {
			t.Errorf("behind %s are %v, want %v", name, got, names[i+1:])
		}
	}
}

func TestFindKnowsFunctionsOfTheNamespaceAlone(t *testing.T) {
	for _, test := range []struct {
		id              []string
		found, reserved bool
	}{
		{[]string{builtin.Namespace, "sha256"}, true, true},
		{[]string{builtin.Namespace, "SHA256"}, false, true},
		{[]string{builtin.Namespace, ""}, false, true},
		{[]string{builtin.Namespace}, false, true},
		{[]string{builtin.Namespace, "sha256", "more"}, false, true},
		{[]string{"sha256"}, false, false},
		{[]string{"n", "sha256"}, false, false},
		{nil, false, false},
	} {
		f, err := builtin.Find(test.id)
		if err != nil || (f != nil) != test.found || builtin.IsReserved(test.id) != test.reserved {
			t.Errorf("%q: got %v, error %v, reserved %v; want found %v, reserved %v", test.id, f, err, builtin.IsReserved(test.id), test.found, test.reserved)
		}
	}
}
