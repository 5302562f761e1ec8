package manifest_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tiltyard/shared/lance/manifest"
)

func TestNamesOfVersions(t *testing.T) {
	cases := []struct {
		version uint64
		scheme  manifest.Scheme
		name    string
	}{
		{1, manifest.V2, "18446744073709551614.manifest"},
		{1 << 53, manifest.V2, "18437736874454810623.manifest"},
		{1<<63 - 1, manifest.V2, "09223372036854775808.manifest"},
		{1, manifest.V1, "1.manifest"},
		{1 << 53, manifest.V1, "9007199254740992.manifest"},
		{1<<63 + 5, manifest.Detached, "d9223372036854775813.manifest"},
	}
	for _, c := range cases {
		if got := manifest.Name(c.version, c.scheme); got != c.name {
			t.Errorf("Name(%d, %s): got %s, want %s", c.version, c.scheme, got, c.name)
		}
		version, scheme, ok := manifest.ParseName(c.name)
		if !ok || version != c.version || scheme != c.scheme {
			t.Errorf("ParseName(%s): got %d, %s, %v", c.name, version, scheme, ok)
		}
	}
}

func TestParseNameRefusesOtherFiles(t *testing.T) {
	for _, name := range []string{
		"", "manifest", ".manifest", "x.manifest", "1", "1.manifest.tmp", "-1.manifest", "+1.manifest", "01.manifest",
		"1.manifest-6f1c", "latest_version_hint.json", "d5.manifest", "dd.manifest", "d.manifest",
		"99999999999999999999.manifest", "00000000000000000005.manifest", "9223372036854775808.manifest", "1_0.manifest",
	} {
		if version, scheme, ok := manifest.ParseName(name); ok {
			t.Errorf("ParseName(%q): got version %d, %s", name, version, scheme)
		}
	}
}

func TestNewerVersionsSortFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Uint64Range(0, math.MaxInt64).Draw(t, "a")
		b := rapid.Uint64Range(0, math.MaxInt64).Draw(t, "b")
		if (manifest.Name(a, manifest.V2) < manifest.Name(b, manifest.V2)) != (a > b) {
			t.Fatalf("%d and %d sort wrongly", a, b)
		}
	})
}
