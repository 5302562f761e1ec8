package refs_test

import (
	"testing"

	"tiltyard/shared/lance/dataset/refs"
)

func TestNamesOfTagsAndBranchesAreChecked(t *testing.T) {
	for name, ok := range map[string]bool{
		"v1.2.3-rc4": true, "a_b": true, "é": true, "": false, ".a": false, "a.": false, "a..b": false,
		"a.lock": false, "a/b": false, "a b": false, `a\b`: false, "..": false, "a%2Fb": false,
	} {
		if err := refs.CheckTag(name); (err == nil) != ok {
			t.Errorf("tag %q: got %v, want accepted %v", name, err, ok)
		}
	}
	for name, ok := range map[string]bool{
		"dev": true, "dev/one": true, "a.b/c": true, "main": false, "": false, "/a": false, "a/": false,
		"a//b": false, "../a": false, "a/..": false, "a/./b": false, "a.lock": false, "a b": false,
	} {
		if err := refs.CheckBranch(name); (err == nil) != ok {
			t.Errorf("branch %q: got %v, want accepted %v", name, err, ok)
		}
	}
}
