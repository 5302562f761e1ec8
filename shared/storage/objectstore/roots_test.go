package objectstore_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var (
	homeStore, memoryStore, bucketStore, nestedStore = memstore.New(), memstore.New(), memstore.New(), memstore.New()

	testRoots = []objectstore.Root{
		{URI: "file:///srv/lake house", Store: homeStore},
		{URI: "memory://scratch", Store: memoryStore},
		{URI: "s3://bucket/orders/", Store: bucketStore},
		{URI: "/srv/lake house/inner", Store: nestedStore},
	}
)

func newRoots(t *testing.T) *objectstore.Roots {
	t.Helper()
	r, err := objectstore.NewRoots(testRoots...)
	if err != nil {
		t.Fatalf("NewRoots: got %v, want nil", err)
	}
	return r
}

func TestResolveAccepts(t *testing.T) {
	long := strings.Repeat("n", 300)
	cases := []struct {
		location string
		store    objectstore.Store
		prefix   string
		uri      string
	}{
		{"file:///srv/lake%20house/t.lance", homeStore, "t.lance", "file:///srv/lake%20house/t.lance"},
		{"file:///srv/lake house/t.lance/", homeStore, "t.lance", "file:///srv/lake%20house/t.lance"},
		{"file:/srv/lake%20house/a/t.lance", homeStore, "a/t.lance", "file:///srv/lake%20house/a/t.lance"},
		{"FILE:///srv/lake%20house/t", homeStore, "t", "file:///srv/lake%20house/t"},
		{"/srv/lake house/t.lance", homeStore, "t.lance", "file:///srv/lake%20house/t.lance"},
		{"/srv/lake house/t.lance/", homeStore, "t.lance", "file:///srv/lake%20house/t.lance"},
		{"t.lance", homeStore, "t.lance", "file:///srv/lake%20house/t.lance"},
		{"a b/t.lance/", homeStore, "a b/t.lance", "file:///srv/lake%20house/a%20b/t.lance"},
		{"reg%201.lance", homeStore, "reg%201.lance", "file:///srv/lake%20house/reg%25201.lance"},
		{"/srv/lake house/p%zz", homeStore, "p%zz", "file:///srv/lake%20house/p%25zz"},
		{"file:///srv/lake%20house/a%252Fb.lance", homeStore, "a%2Fb.lance", "file:///srv/lake%20house/a%252Fb.lance"},
		{"file:///srv/lake%20house/q%3F%23.lance", homeStore, "q?#.lance", "file:///srv/lake%20house/q%3F%23.lance"},
		{"file:///srv/lake%20house/%C3%BC+x", homeStore, "ü+x", "file:///srv/lake%20house/%C3%BC+x"},
		{"dir/a:b.lance", homeStore, "dir/a:b.lance", "file:///srv/lake%20house/dir/a:b.lance"},
		{"...", homeStore, "...", "file:///srv/lake%20house/..."},
		{"a/~b", homeStore, "a/~b", "file:///srv/lake%20house/a/~b"},
		{"a/_tiltyard", homeStore, "a/_tiltyard", "file:///srv/lake%20house/a/_tiltyard"},
		{long, homeStore, long, "file:///srv/lake%20house/" + long},
		{"memory://scratch/t.lance", memoryStore, "t.lance", "memory://scratch/t.lance"},
		{"s3://bucket/orders/t.lance", bucketStore, "t.lance", "s3://bucket/orders/t.lance"},
		{"/srv/lake house/inner/t", nestedStore, "t", "file:///srv/lake%20house/inner/t"},
		{"inner/t", nestedStore, "t", "file:///srv/lake%20house/inner/t"},
		{"/srv/lake house/inner2/t", homeStore, "inner2/t", "file:///srv/lake%20house/inner2/t"},
	}
	roots := newRoots(t)
	for _, c := range cases {
		got, err := roots.Resolve(c.location)
		if err != nil {
			t.Errorf("Resolve(%.60q): got %v, want nil", c.location, err)
			continue
		}
		if got.Store != c.store || got.Prefix != c.prefix || got.URI != c.uri {
			t.Errorf("Resolve(%.60q): got prefix %.60q, URI %.80q (right store: %v), want %.60q, %.80q",
				c.location, got.Prefix, got.URI, got.Store == c.store, c.prefix, c.uri)
		}
		again, err := roots.Resolve(got.URI)
		if err != nil || again != got {
			t.Errorf("Resolve(%.80q) again: got %.80q, %v, want the same", got.URI, again.URI, err)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	const home = "file:///srv/lake%20house/"
	hostile := []string{
		// Dot segments, plain and encoded.
		"..", ".", "../t", "a/..", "a/../t", "a/../../t", "./t", "a/./t", "a/.", "%2e%2e/t", "%2E%2e", ".%2e/t", "a/%2e/t",
		home + "..", home + "../t", home + "a/../t", home + "a/../../etc", home + ".", home + "%2e%2e/t", home + "%2E%2E/t",
		home + ".%2E/t", home + "%2e", home + "a/%2e%2e/%2e%2e/t", "/srv/lake house/../t", "/srv/lake house/%2e%2e/t",
		"/srv/lake house/a/..", "memory://scratch/../t", "s3://bucket/orders/../victim/t", "s3://bucket/orders/%2e%2e/t",
		"file:///srv/x/../lake%20house/t", "file:///srv/x/%2e%2e/lake%20house/t",
		// Encoded and doubled slashes, backslashes.
		home + "a%2fb", home + "..%2f..%2fetc", "a%2Fb", home + "a//b", home + "/t", "a//b", "//srv/lake house/t", "file:////srv/lake%20house/t",
		"s3://bucket//orders/t", "s3://bucket/orders//t", home + "t//", `a\b`, `..\t`, home + `..\t`, home + "a%5Cb", home + "..%5c..%5cetc",
		`\\host\share`, `C:\t`,
		// Characters that other programs strip, or at which they stop.
		"t\x00", home + "t%00.lance", "t\n", "a\tb", home + ".\t./t", home + "a%0Ab", home + "%7F", home + "%C2%85", " t", "t ", " " + home + "t",
		"\u00a0t", "\xff", home + "%ff", home + "%c0%ae%c0%ae/t", home + "%", home + "%2", home + "%zz",
		// Queries, fragments, users, hosts, ports, schemes.
		"t?x=1", "t#f", home + "t?versionId=1", home + "t#f", "/srv/lake house/t?x", "s3://bucket/orders/t?x=1",
		"s3://user@bucket/orders/t", "s3://user:secret@bucket/orders/t", "s3://bucket@evil/orders/t", "s3://bucket:80/orders/t",
		"s3://evil%2f@bucket/orders/t", "file://localhost/srv/lake%20house/t", "file://evil/srv/lake%20house/t", "file://srv/lake%20house/t",
		"file://user@/srv/lake%20house/t", "http://bucket/orders/t", "https://bucket.s3.amazonaws.com/orders/t", "HTTP://169.254.169.254/latest",
		"ftp://bucket/orders/t", "s3a://bucket/orders/t", "gs://bucket/orders/t", "file-object-store:///srv/lake%20house/t", "s3:/bucket/orders/t",
		"s3:bucket/orders/t", "s3:///orders/t", "file:srv/lake%20house/t", "file:", "file:t", "data:text/plain,x", "c:/t", ":t", "://t", "a:b.lance",
		// Places outside, siblings and roots themselves.
		"", "/", "//", "~", "~/t", "~root/t", "/etc/passwd", "file:///etc/passwd", "file:///", "file://", "/srv", "/srv/lake house", "/srv/lake house/",
		"file:///srv/lake%20house", home, "/srv/lake house2/t", "file:///srv/lake%20house2/t", "/srv/lake%20house/t", "file:///srv/lake%2520house/t",
		"file:///SRV/lake%20house/t", "/srv/lake house/inner", "inner", "inner/_tiltyard/t", "s3://bucket/orders", "s3://bucket/orders/", "s3://bucket/orders2/t", "s3://bucket/order",
		"s3://bucket", "s3://bucket/", "s3://bucket2/orders/t", "s3://BUCKET/orders/t", "memory://scratch", "memory://scratch/", "memory://other/t", "memory://",
		// The store's own folder, and lengths.
		"_tiltyard", "_tiltyard/tmp/x", home + "_tiltyard/locks", home + "%5Ftiltyard/tmp", "memory://scratch/_tiltyard/x",
		strings.Repeat("k", objectstore.MaxKeyBytes+1), strings.Repeat("a/", 20000) + "a", home + strings.Repeat("%41", objectstore.MaxKeyBytes+1),
	}
	roots := newRoots(t)
	for _, location := range hostile {
		got, err := roots.Resolve(location)
		if !errors.Is(err, objectstore.ErrLocation) || got != (objectstore.Location{}) {
			t.Errorf("Resolve(%.60q): got %.80q, %v, want ErrLocation", location, got.URI, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "file:///srv/lake%20house/") || strings.Contains(text, "secret") || len(text) > 400 {
			t.Errorf("Resolve(%.60q): got message %q, want a short one that names the roots", location, text)
		}
	}
	t.Logf("%d hostile locations", len(hostile))
}

func TestJoinIsResolvedBack(t *testing.T) {
	roots := newRoots(t)
	if got, want := roots.Home().URI, "file:///srv/lake%20house"; got != want {
		t.Errorf("Home: got %q, want %q", got, want)
	}
	part := rapid.StringOfN(rapid.SampledFrom([]rune(`aZ09 ._-~%2eF$&+=:@!*'(),;[]{}|^"<>?#üé号😀`)), 1, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		prefix := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), "/")
		if objectstore.CheckKey(prefix) != nil || strings.HasPrefix(prefix, "inner/") {
			return
		}
		joined := roots.Join(prefix)
		if joined.Store != homeStore || joined.Prefix != prefix {
			t.Fatalf("Join(%q): got %+v, want this prefix in the home store", prefix, joined)
		}
		got, err := roots.Resolve(joined.URI)
		if err != nil || got != joined {
			t.Fatalf("Resolve(%q): got %+v, %v, want %+v", joined.URI, got, err, joined)
		}
	})
}

func TestNewRootsRefuses(t *testing.T) {
	s := memstore.New()
	cases := map[string][]objectstore.Root{
		"no roots":      nil,
		"relative":      {{URI: "dir", Store: s}},
		"empty":         {{URI: "", Store: s}},
		"top of disk":   {{URI: "file:///", Store: s}},
		"dots":          {{URI: "file:///a/../b", Store: s}},
		"no bucket":     {{URI: "s3:///a", Store: s}},
		"query":         {{URI: "s3://b/a?x", Store: s}},
		"web":           {{URI: "https://host/a", Store: s}},
		"no store":      {{URI: "memory://a"}},
		"the same root": {{URI: "file:///a b", Store: s}, {URI: "/a b/", Store: s}},
	}
	for name, roots := range cases {
		if _, err := objectstore.NewRoots(roots...); err == nil {
			t.Errorf("NewRoots with %s: got nil, want an error", name)
		}
	}
}

func FuzzResolve(f *testing.F) {
	roots, err := objectstore.NewRoots(testRoots...)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"t.lance", "inner", "inner/x", "file:///srv/lake%20house/a%2Fb", "s3://bucket/orders/t", "/srv/lake house/inner/x", "a/../b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, location string) {
		got, err := roots.Resolve(location)
		if err != nil {
			return
		}
		if err := objectstore.CheckKey(got.Prefix); err != nil {
			t.Errorf("Resolve(%q): got prefix %q: %v", location, got.Prefix, err)
		}
		if again, err := roots.Resolve(got.URI); err != nil || again != got {
			t.Errorf("Resolve(%q): got %+v, %v, want %+v", got.URI, again, err, got)
		}
	})
}
