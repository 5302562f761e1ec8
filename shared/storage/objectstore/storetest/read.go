package storetest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/storage/objectstore"
)

func putThenGet(t *testing.T, s objectstore.Store) {
	for _, value := range []string{"", "x", strings.Repeat("0123456789", 500_000)} {
		put := mustPut(t, s, "t/data", value)
		got := mustGet(t, s, "t/data", value)
		_, bare, err := s.GetRanges(t.Context(), "t/data")
		if err != nil {
			t.Fatalf("GetRanges without ranges: got %v, want nil", err)
		}
		if diff := infoDiff(put, got); diff != "" {
			t.Errorf("Info of Get (-put +get):\n%s", diff)
		}
		if diff := infoDiff(put, bare); diff != "" {
			t.Errorf("Info of GetRanges (-put +get):\n%s", diff)
		}
	}
	if err := s.Delete(t.Context(), "t/data", always); err != nil {
		t.Fatalf("Delete: got %v, want nil", err)
	}
	wantAbsent(t, s, "t/data")
	mustPut(t, s, "t/data", "again")
	mustGet(t, s, "t/data", "again")
}

func missingObjects(t *testing.T, s objectstore.Store) {
	wantAbsent(t, s, "nothing/here")
	mustPut(t, s, "folder/object", "x")
	for _, key := range []string{"folder", "folder/objec", "folder/object2", "folder/object/below"} {
		wantAbsent(t, s, key)
		if err := s.Delete(t.Context(), key, always); err != nil {
			t.Errorf("Delete(%q) of nothing: got %v, want nil", key, err)
		}
	}
	mustGet(t, s, "folder/object", "x")
}

// longPart is longer than a file name may be.
var longPart = strings.Repeat("0123456789", 30)

// alwaysHeld is the key length that every store must support. A store may refuse longer keys.
const alwaysHeld = 950

// oddKeys are keys that are easily encoded, escaped or shortened wrongly.
var oddKeys = []string{
	"a b", " leading", "trailing ", "tab\tand\nnewline", "per%cent", "per%2fcent", "%2e%2e", "...", "..a", "a..",
	".hidden", "-dash", "~tilde", "$n/x", "a:b", `quo"te'`, "q?m&h#s*", "[x]{y}", "Grüße", "表/行", "e\u0301",
	"\u00e9", "😀", strings.Repeat("x", 199), strings.Repeat("x", 200), strings.Repeat("y", 201),
	strings.Repeat("z", 255), strings.Repeat("z", 256), strings.Repeat("z", 400), strings.Repeat("z", 401),
	strings.Repeat("v", 200) + "~", strings.Repeat("w", 200) + "~/w", strings.Repeat("ü", 150),
	longPart + "/" + longPart + "/" + longPart, "d/" + longPart + "/data/" + longPart + ".lance",
	strings.TrimSuffix(strings.Repeat("level/", 16), "/"),
	strings.TrimSuffix(strings.Repeat(strings.Repeat("n", 255)+"/", 16), "/"),
	strings.Repeat("k", objectstore.MaxKeyBytes),
	strings.Repeat("s/", 500) + "s",
}

// shortName is the length of the longest name that every store must take. The file systems below
// stores hold 255 bytes, which some need in part for names of their own.
const shortName = 200

func isLong(key string) bool {
	return slices.ContainsFunc(strings.Split(key, "/"), func(name string) bool { return len(name) > shortName })
}

// held returns the keys without the long ones that the store refuses.
func held(t *testing.T, s objectstore.Store, keys []string) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		if !isLong(key) {
			return false
		}
		_, err := s.Put(t.Context(), key, nil, always)
		if err == nil {
			_, err = s.Put(t.Context(), key, nil, always)
			if err := s.Delete(t.Context(), key, always); err != nil {
				t.Fatalf("Delete(%.80q): got %v, want nil", key, err)
			}
		}
		return err != nil
	})
}

// backslashKey is a key that some servers take for two names.
func backslashKey(t *testing.T, s objectstore.Store) {
	const key = `back\slash`
	mustPut(t, s, key, "x")
	mustGet(t, s, key, "x")
	if keys := keysOf(t, s, ""); !slices.Equal(keys, []string{key}) {
		t.Errorf("List: got %q, want %q", keys, key)
	}
}

// longKeys tests that the store accepts long names; other tests check the operations on them.
func longKeys(t *testing.T, s objectstore.Store) {
	for _, key := range slices.Concat(oddKeys, listed, historyKeys) {
		if len(key) <= alwaysHeld && isLong(key) {
			mustPut(t, s, key, "")
			mustPut(t, s, key, key)
		}
	}
}

// manyKeys tests that odd keys lead to objects of their own.
func manyKeys(t *testing.T, s objectstore.Store) {
	var keys []string
	for _, key := range held(t, s, oddKeys) {
		_, err := s.Put(t.Context(), key, nil, always)
		if len(key) > alwaysHeld && errors.Is(err, objectstore.ErrInvalidKey) {
			continue
		}
		mustPut(t, s, key, key)
		keys = append(keys, key)
	}
	for _, key := range keys {
		mustGet(t, s, key, key)
	}
	slices.Sort(keys)
	if diff := cmp.Diff(keys, keysOf(t, s, "")); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	for _, key := range keys {
		if err := s.Delete(t.Context(), key, always); err != nil {
			t.Fatalf("Delete(%.80q): got %v, want nil", key, err)
		}
		wantAbsent(t, s, key)
	}
	if left := keysOf(t, s, ""); len(left) > 0 {
		t.Errorf("List after all was deleted: got %q, want nothing", left)
	}
}

func invalidKeys(t *testing.T, s objectstore.Store) {
	keys := []string{
		"", "/", "/abs", "end/", "a//b", ".", "..", "../x", "a/..", "a/../b", "./a", "a/.", "nul\x00", "\xff\xfe",
		strings.Repeat("k", objectstore.MaxKeyBytes+1),
	}
	ctx := t.Context()
	for _, key := range keys {
		_, _, err := s.Get(ctx, key)
		wantErr(t, "Get", err, objectstore.ErrInvalidKey)
		_, _, err = s.GetRanges(ctx, key, objectstore.Range{Length: 1})
		wantErr(t, "GetRanges", err, objectstore.ErrInvalidKey)
		_, err = s.Put(ctx, key, nil, always)
		wantErr(t, "Put", err, objectstore.ErrInvalidKey)
		_, err = s.Put(ctx, key, nil, ifAbsent)
		wantErr(t, "Put if absent", err, objectstore.ErrInvalidKey)
		wantErr(t, "Delete", s.Delete(ctx, key, always), objectstore.ErrInvalidKey)
		_, err = s.Create(ctx, key)
		wantErr(t, "Create", err, objectstore.ErrInvalidKey)
	}
	if keys := keysOf(t, s, ""); len(keys) > 0 {
		t.Errorf("List: got %q, want nothing", keys)
	}
}

func bytesAreCopied(t *testing.T, s objectstore.Store) {
	data := []byte("mine")
	if _, err := s.Put(t.Context(), "k", data, always); err != nil {
		t.Fatal(err)
	}
	copy(data, "XXXX")
	got, _, err := s.Get(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	copy(got, "YYYY")
	parts, _, err := s.GetRanges(t.Context(), "k", objectstore.Range{Length: 4}, objectstore.Range{Length: 4})
	if err != nil {
		t.Fatal(err)
	}
	copy(parts[0], "ZZZZ")
	if string(parts[1]) != "mine" {
		t.Errorf("second range: got %q, want %q", parts[1], "mine")
	}
	mustGet(t, s, "k", "mine")
}

func ranges(t *testing.T, s objectstore.Store) {
	big := strings.Repeat("0123456789abcdef", 1<<17)
	put := mustPut(t, s, "k", big)
	size := int64(len(big))
	cases := []struct {
		ask  objectstore.Range
		want string
	}{
		{objectstore.Range{Offset: 0, Length: 4}, "0123"},
		{objectstore.Range{Offset: 5, Length: 3}, "567"},
		{objectstore.Range{Offset: 5, Length: 0}, ""},
		{objectstore.Range{Offset: size, Length: 0}, ""},
		{objectstore.Range{Offset: size - 2, Length: 2}, "ef"},
		{objectstore.Range{Offset: -3}, "def"},
		{objectstore.Range{Offset: -3, Length: 1}, "def"},
		{objectstore.Range{Offset: -size}, big},
		{objectstore.Range{Offset: -size - 1}, big},
		{objectstore.Range{Offset: math.MinInt64}, big},
		{objectstore.Range{Offset: 0, Length: size}, big},
	}
	var all []objectstore.Range
	for _, c := range cases {
		all = append(all, c.ask)
		parts, info, err := s.GetRanges(t.Context(), "k", c.ask)
		if err != nil || len(parts) != 1 || string(parts[0]) != c.want || infoDiff(put, info) != "" {
			t.Errorf("GetRanges(%+v): got %.40q, %+v, %v, want %.40q, %+v", c.ask, parts, info, err, c.want, put)
		}
	}
	all = slices.Concat(all, all, all)
	parts, _, err := s.GetRanges(t.Context(), "k", all...)
	if err != nil || len(parts) != len(all) {
		t.Fatalf("GetRanges of %d ranges: got %d parts, %v", len(all), len(parts), err)
	}
	for i, part := range parts {
		if want := cases[i%len(cases)].want; string(part) != want {
			t.Errorf("range %d of many: got %.40q, want %.40q", i, part, want)
		}
	}
}

func invalidRanges(t *testing.T, s objectstore.Store) {
	mustPut(t, s, "k", "0123456789")
	mustPut(t, s, "empty", "")
	cases := []struct {
		key string
		ask objectstore.Range
	}{
		{"k", objectstore.Range{Offset: 0, Length: 11}},
		{"k", objectstore.Range{Offset: 10, Length: 1}},
		{"k", objectstore.Range{Offset: 11, Length: 0}},
		{"k", objectstore.Range{Offset: 3, Length: -1}},
		{"k", objectstore.Range{Offset: 1, Length: math.MaxInt64}},
		{"k", objectstore.Range{Offset: math.MaxInt64, Length: math.MaxInt64}},
		{"empty", objectstore.Range{Offset: 0, Length: 1}},
	}
	for _, c := range cases {
		_, _, err := s.GetRanges(t.Context(), c.key, c.ask)
		wantErr(t, "GetRanges", err, objectstore.ErrInvalidRange)
		_, _, err = s.GetRanges(t.Context(), c.key, objectstore.Range{}, c.ask, objectstore.Range{})
		wantErr(t, "GetRanges of three", err, objectstore.ErrInvalidRange)
	}
	parts, _, err := s.GetRanges(t.Context(), "empty", objectstore.Range{Offset: -8})
	if err != nil || len(parts) != 1 || len(parts[0]) != 0 {
		t.Errorf("suffix of an empty object: got %q, %v, want one empty part", parts, err)
	}
}
