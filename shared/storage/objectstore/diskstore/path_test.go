package diskstore

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tiltyard/shared/storage/objectstore"
)

func TestLongKeysAreSplitIntoFolders(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	cases := []struct{ key, want string }{
		{"a/b", "a/b"},
		{x(200), x(200)},
		{x(201), x(200) + "~/~x"},
		{x(200) + ".", x(200) + "~/~."},
		{x(200) + "..", x(200) + "~/~.."},
		{x(200) + "~", x(200) + "~/~~"},
		{x(399), x(200) + "~/~" + x(199)},
		{x(400), x(200) + "~/" + x(200) + "~/~"},
		{"a/" + x(450) + "/c", "a/" + x(200) + "~/" + x(200) + "~/~" + x(50) + "/c"},
		{x(200) + "/" + x(150), x(200) + "/" + x(150)},
	}
	for _, c := range cases {
		if got := toPath(c.key); got != c.want {
			t.Errorf("toPath(%.210q): got %q, want %q", c.key, got, c.want)
		}
	}
}

func TestPathsLeadBackToKeys(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("x~.")), 1, 4, -1)
	part := rapid.Custom(func(t *rapid.T) string {
		long := rapid.SampledFrom([]int{0, 0, 195, 199, 200, 398, 400, 600}).Draw(t, "long")
		return strings.Repeat("x", long) + letters.Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		key := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "/")
		if objectstore.CheckKey(key) != nil {
			return
		}
		if got := toKey(t, toPath(key)); got != key {
			t.Fatalf("key of toPath(%q): got %q", key, got)
		}
	})
}

// toKey reads a path name by name, as a listing does.
func toKey(t *rapid.T, p string) string {
	var key strings.Builder
	inside := false
	for name := range strings.SplitSeq(p, "/") {
		part, goesOn, ok := fromName(name, inside)
		if !ok || len(name) > 255 || name == "." || name == ".." || name == "" {
			t.Fatalf("path %q: %q is not a name of ours", p, name)
		}
		if key.Len() > 0 && !inside {
			key.WriteByte('/')
		}
		key.WriteString(part)
		inside = goesOn
	}
	return key.String()
}
