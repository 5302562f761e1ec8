package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/storage/objectstore"
)

// listed are keys whose order is often implemented wrongly. No key is a folder of another.
var listed = func() []string {
	long := strings.Repeat("L", 200) // the longest name that diskstore does not divide
	keys := []string{
		"a", "a-b", "a.b", "a0", "aa", "B", "b!/c", "b-/c", "b/c", "b/c-d/e", "b/c.d", "b/c0", "b/d/e/f", "b/d/e0", "b/d0", "b0/x",
		"t/_versions/1", "t/_versions/18446744073709551600.manifest", "t/_versions/18446744073709551601.manifest",
		"t/_versions/18446744073709551614.manifest", "t/_versions/2", "t/data/x.lance", "t/z", "u", "~", "é/x", "号",
		long + "/x", long + "-/y", long + ".", long + "!", long + "0", long + "00/a", long + "00/b", long + "~/c",
		long + strings.Repeat("M", 200) + "/deep", long + strings.Repeat("M", 200) + "-", long + strings.Repeat("M", 250) + "/a/b",
		"f/" + long + "/x", "f/" + long + ".x", "f/" + long + "0/x",
	}
	slices.Sort(keys)
	return keys
}()

// putListed puts the listed keys that the store accepts, and returns them in order.
func putListed(t *testing.T, s objectstore.Store) ([]string, map[string]objectstore.Info) {
	t.Helper()
	listed := held(t, s, listed)
	infos := make(map[string]objectstore.Info)
	for _, key := range slices.Backward(listed) {
		infos[key] = mustPut(t, s, key, key)
	}
	if len(infos) != len(listed) {
		t.Fatalf("put %d of %d keys", len(infos), len(listed))
	}
	return listed, infos
}

func listOrder(t *testing.T, s objectstore.Store) {
	listed, infos := putListed(t, s)
	page, err := s.List(t.Context(), objectstore.ListOptions{})
	if err != nil || page.More || len(page.Prefixes) > 0 || len(page.Objects) != len(listed) {
		t.Fatalf("List: got %d objects, %q, more %v, %v, want %d objects", len(page.Objects), page.Prefixes, page.More, err, len(listed))
	}
	for i, o := range page.Objects {
		if diff := infoDiff(infos[listed[i]], o); diff != "" {
			t.Errorf("object %d (-put +listed):\n%s", i, diff)
		}
	}
	if got := keysOf(t, s, "t/_versions/1844674407370955160"); len(got) != 2 {
		t.Errorf("keys of a partial name: got %q, want two", got)
	}
	for _, prefix := range []string{"nothing", "a/", "b/c/", "/", "//", "b//", "../", "./", ".", "b/../", "b/c\x00", "\xff/"} {
		if got := keysOf(t, s, prefix); len(got) > 0 {
			t.Errorf("List(%q): got %q, want nothing", prefix, got)
		}
	}
}

// A page is a ListPage without the fields that differ between stores.
type page struct {
	Keys, Prefixes []string
	More           bool
}

// model lists sorted keys in the simplest way.
func model(keys []string, opts objectstore.ListOptions) page {
	var p page
	for _, key := range keys {
		if !strings.HasPrefix(key, opts.Prefix) {
			continue
		}
		name := key
		if end := strings.Index(key[len(opts.Prefix):], "/"); opts.Delimiter != "" && end >= 0 {
			name = key[:len(opts.Prefix)+end+1]
		}
		switch {
		case name <= opts.StartAfter || slices.Contains(p.Prefixes, name):
		case opts.Limit > 0 && len(p.Keys)+len(p.Prefixes) == opts.Limit:
			p.More = true
			return p
		case name == key:
			p.Keys = append(p.Keys, key)
		default:
			p.Prefixes = append(p.Prefixes, name)
		}
	}
	return p
}

func list(t fataler, s objectstore.Store, opts objectstore.ListOptions) page {
	t.Helper()
	got, err := s.List(context.Background(), opts)
	if err != nil {
		t.Fatalf("List(%+v): got %v, want nil", opts, err)
	}
	p := page{Prefixes: got.Prefixes, More: got.More}
	for _, o := range got.Objects {
		p.Keys = append(p.Keys, o.Key)
	}
	return p
}

func listAgreesWithModel(t *testing.T, s objectstore.Store) { agrees(t, s, true) }

// listKnowsItsEnd is listAgreesWithModel for stores that set More only if another entry follows.
func listKnowsItsEnd(t *testing.T, s objectstore.Store) { agrees(t, s, false) }

func agrees(t *testing.T, s objectstore.Store, mayHaveMore bool) {
	listed, _ := putListed(t, s)
	rapid.Check(t, func(t *rapid.T) {
		opts := objectstore.ListOptions{
			Prefix:     drawNearKey(t, listed, "prefix"),
			Delimiter:  rapid.SampledFrom([]string{"", "/"}).Draw(t, "delimiter"),
			Limit:      rapid.IntRange(0, 6).Draw(t, "limit"),
			StartAfter: drawNearKey(t, listed, "startAfter"),
			KeysOnly:   rapid.Bool().Draw(t, "keysOnly"),
		}
		if opts.Limit > 0 {
			opts.Delimiter = "" // pages of folders have a test of their own
		}
		want, got := model(listed, opts), list(t, s, opts)
		if mayHaveMore && opts.Limit > 0 && len(got.Keys)+len(got.Prefixes) == opts.Limit {
			want.More = want.More || got.More
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("List(%+v) (-want +got):\n%s", opts, diff)
		}
	})
}

// drawNearKey draws a prefix of a listed key, often with additional characters.
func drawNearKey(t *rapid.T, listed []string, label string) string {
	key := rapid.SampledFrom(listed).Draw(t, label)
	cut := key[:rapid.IntRange(0, len(key)).Draw(t, label+" cut")]
	if rapid.Bool().Draw(t, label+" at slash") {
		cut = key[:strings.LastIndexByte(key, '/')+1]
	}
	return cut + rapid.SampledFrom([]string{"", "", "", "-", "/", "0", "\xff"}).Draw(t, label+" end")
}

func listPages(t *testing.T, s objectstore.Store) { pagesOf(t, s, "") }

func listPagesOfFolders(t *testing.T, s objectstore.Store) { pagesOf(t, s, "/") }

func pagesOf(t *testing.T, s objectstore.Store, delimiter string) {
	listed, _ := putListed(t, s)
	for limit := 1; limit <= len(listed)+1; limit++ {
		want := model(listed, objectstore.ListOptions{Delimiter: delimiter})
		var got page
		opts := objectstore.ListOptions{Delimiter: delimiter, Limit: limit}
		for {
			p := list(t, s, opts)
			got.Keys = append(got.Keys, p.Keys...)
			got.Prefixes = append(got.Prefixes, p.Prefixes...)
			if !p.More {
				break
			}
			if len(p.Keys)+len(p.Prefixes) != limit {
				t.Fatalf("page of %d entries says there is more, want %d entries", len(p.Keys)+len(p.Prefixes), limit)
			}
			opts.StartAfter = max(last(p.Keys), last(p.Prefixes))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("all pages of %d with delimiter %q (-want +got):\n%s", limit, delimiter, diff)
		}
	}
}

func last(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[len(s)-1]
}

func listMistakes(t *testing.T, s objectstore.Store) {
	for _, opts := range []objectstore.ListOptions{{Delimiter: "-"}, {Delimiter: "//"}, {Limit: -1}} {
		if _, err := s.List(t.Context(), opts); err == nil {
			t.Errorf("List(%+v): got nil, want an error", opts)
		}
	}
	if got := list(t, s, objectstore.ListOptions{Delimiter: "/"}); !cmp.Equal(got, page{}) {
		t.Errorf("List of nothing: got %+v, want nothing", got)
	}
}
