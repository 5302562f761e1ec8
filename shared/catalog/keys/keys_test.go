package keys_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/storage/objectstore"
)

func TestEscapeKeepsOrderAndReverses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-./ a-z0-9_$~%+]{1,12}`))
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		ea, eb := keys.Escape(a), keys.Escape(b)
		if got, want := strings.Compare(ea, eb), strings.Compare(a, b); got != want {
			t.Fatalf("compare(%q, %q) = %d, names compare %d", ea, eb, got, want)
		}
		back, err := keys.Unescape(ea)
		if err != nil || back != a {
			t.Fatalf("unescape(escape(%q)) = %q, %v", a, back, err)
		}
	})
}

func TestUnescapeRefusesWhatEscapeDoesNotWrite(t *testing.T) {
	for _, s := range []string{"-", "-2", "-zz", "-61", "~61", "=2e", "a.b", "a/b"} {
		if name, err := keys.Unescape(s); err == nil {
			t.Errorf("unescape(%q) = %q, want an error", s, name)
		}
	}
}

func TestKeysAreValidAndDistinct(t *testing.T) {
	long := strings.Repeat("é/", 85)
	paths := [][]string{
		{"a"}, {"a", "b"}, {"ab"}, {"a$b"}, {"$"}, {"$$"}, {"."}, {".."}, {"a/b"}, {"a", "b", "c"},
		{"t"}, {"n"}, {"a", "t", "b"}, {"a", "n", "b"}, {long}, {long, long}, {long, long, "x"}, {"\x01"}, {"A"}, {" "},
	}
	seen := map[string][]string{}
	for _, path := range paths {
		for _, key := range []string{keys.Table(path), keys.Namespace(path)} {
			if err := objectstore.CheckKey(key); err != nil {
				t.Errorf("key of %q: %v", path, err)
			}
			if other, ok := seen[key]; ok && !cmp.Equal(other, path) {
				t.Errorf("paths %q and %q share the key %q", other, path, key)
			}
			seen[key] = path
		}
	}
}

func TestFolderPathReversesFolder(t *testing.T) {
	for _, path := range [][]string{nil, {"a"}, {"a", "b$c"}, {"x.y", "z/w", "ü"}} {
		got, ok := keys.Path(keys.Folder(path))
		if !ok || !cmp.Equal(got, path) {
			t.Errorf("folderPath(folder(%q)) = %q, %v", path, got, ok)
		}
	}
	if _, ok := keys.Path(keys.Folder([]string{strings.Repeat("x", 300)})); ok {
		t.Error("folderPath of a hashed folder says it knows the path")
	}
}
