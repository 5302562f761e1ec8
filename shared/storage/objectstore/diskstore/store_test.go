package diskstore

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/storetest"
)

func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, t.TempDir())
}

func openAt(t testing.TB, root string) *Store {
	t.Helper()
	s, err := Open(root)
	if err != nil {
		t.Fatalf("Open: got %v, want nil", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	return s
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) objectstore.Store { return open(t) })
}

func TestOpenMakesRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "b")
	openAt(t, root)
	if info, err := os.Stat(root); err != nil || info.Mode().Perm()&0o700 != 0o700 || info.Mode().Perm()&0o022 != 0 {
		t.Errorf("root: got %v, %v, want a directory that only its owner writes", info, err)
	}
	file := filepath.Join(root, "file")
	writeFile(t, file, "x")
	if s, err := Open(file); err == nil {
		t.Errorf("Open of a file: got %v, want an error", s)
	}
}

func TestObjectsOutliveStore(t *testing.T) {
	root := t.TempDir()
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	put := mustPut(t, s, "a/b", "value")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, info, err := openAt(t, root).Get(t.Context(), "a/b")
	if err != nil || string(data) != "value" || info != put {
		t.Errorf("Get: got %q, %+v, %v, want %+v", data, info, err, put)
	}
	if data, err := os.ReadFile(filepath.Join(root, "a", "b")); err != nil || string(data) != "value" {
		t.Errorf("file: got %q, %v, want it at the path its key spells", data, err)
	}
}

func TestObjectAndFolderOfOneNameOverlap(t *testing.T) {
	s := open(t)
	mustPut(t, s, "file", "x")
	mustPut(t, s, "dir/below/it", "x")
	for _, key := range []string{"file/below", "file/far/below", "dir", "dir/below"} {
		for _, cond := range []objectstore.Condition{{}, {IfAbsent: true}} {
			if _, err := s.Put(t.Context(), key, nil, cond); !errors.Is(err, ErrOverlap) {
				t.Errorf("Put(%q, %+v): got %v, want ErrOverlap", key, cond, err)
			}
		}
		if _, err := s.Put(t.Context(), key, nil, objectstore.Condition{IfMatch: "x"}); !errors.Is(err, objectstore.ErrPrecondition) {
			t.Errorf("Put(%q) if match: got %v, want ErrPrecondition", key, err)
		}
		if err := s.Delete(t.Context(), key, objectstore.Condition{}); err != nil {
			t.Errorf("Delete(%q): got %v, want nil", key, err)
		}
	}
	wantKeys(t, s, "", "dir/below/it", "file")
	wantNoTemp(t, s)
}

func TestEmptyDirectoriesAreNothing(t *testing.T) {
	s := open(t)
	mkdir(t, s, "dir/empty/deep")
	mkdir(t, s, "other")
	page, err := s.List(t.Context(), objectstore.ListOptions{Delimiter: "/"})
	if err != nil || len(page.Objects)+len(page.Prefixes) > 0 {
		t.Errorf("List: got %+v, %v, want nothing", page, err)
	}
	for i, cond := range []objectstore.Condition{{}, {IfAbsent: true}} {
		key := []string{"other", "dir/empty/deep"}[i]
		if _, err := s.Put(t.Context(), key, []byte("x"), cond); err != nil {
			t.Errorf("Put(%q) over an empty directory: got %v, want nil", key, err)
		}
	}
	wantKeys(t, s, "", "dir/empty/deep", "other")
}

func TestDeleteRemovesEmptyDirectories(t *testing.T) {
	s := open(t)
	mustPut(t, s, "a/b/c/d", "x")
	mustPut(t, s, "a/e", "x")
	mustPut(t, s, strings.Repeat("n", 500)+"/x", "x")
	for _, key := range []string{"a/b/c/d", strings.Repeat("n", 500) + "/x"} {
		if err := s.Delete(t.Context(), key, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := names(t, s, "."), []string{"_tiltyard", "a"}; !slices.Equal(got, want) {
		t.Errorf("root: got %q, want %q", got, want)
	}
	if got, want := names(t, s, "a"), []string{"e"}; !slices.Equal(got, want) {
		t.Errorf("folder a: got %q, want %q", got, want)
	}
}

func TestOwnFolderIsHidden(t *testing.T) {
	s := open(t)
	for _, key := range []string{"_tiltyard", "_tiltyard/x", "_tiltyard/tmp/x", "_tiltyard/locks/00"} {
		if _, err := s.Put(t.Context(), key, nil, objectstore.Condition{}); !errors.Is(err, objectstore.ErrInvalidKey) {
			t.Errorf("Put(%q): got %v, want ErrInvalidKey", key, err)
		}
		if _, _, err := s.Get(t.Context(), key); !errors.Is(err, objectstore.ErrInvalidKey) {
			t.Errorf("Get(%q): got %v, want ErrInvalidKey", key, err)
		}
		if err := s.Delete(t.Context(), key, objectstore.Condition{}); !errors.Is(err, objectstore.ErrInvalidKey) {
			t.Errorf("Delete(%q): got %v, want ErrInvalidKey", key, err)
		}
		if _, err := s.Create(t.Context(), key); !errors.Is(err, objectstore.ErrInvalidKey) {
			t.Errorf("Create(%q): got %v, want ErrInvalidKey", key, err)
		}
	}
	w, err := s.Create(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "_", "_tiltyard", "_tiltyard/", "_tiltyard/tmp/"} {
		wantKeys(t, s, prefix)
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	mustPut(t, s, "a/_tiltyard/x", "x")
	mustPut(t, s, "_tiltyard2", "x")
	wantKeys(t, s, "", "_tiltyard2", "a/_tiltyard/x")
	wantNoTemp(t, s)
}

func TestLinksOutOfRootAreNotFollowed(t *testing.T) {
	s := open(t)
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "secret"), "secret")
	links := map[string]string{
		"file": filepath.Join(outside, "secret"), "dir": outside, "up": "../" + filepath.Base(outside), "loop": "loop",
		"t/data": outside,
	}
	mkdir(t, s, "t")
	for name, target := range links {
		if err := s.root.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"file", "dir/secret", "up/secret", "loop", "loop/x", "t/data/secret"} {
		if data, _, err := s.Get(t.Context(), key); err == nil {
			t.Errorf("Get(%q): got %q, want an error", key, data)
		}
		if parts, _, err := s.GetRanges(t.Context(), key, objectstore.Range{Offset: -1}); err == nil {
			t.Errorf("GetRanges(%q): got %q, want an error", key, parts)
		}
	}
	for _, key := range []string{"dir/new", "up/new", "t/data/new", "dir/secret", "dir/a/b"} {
		for _, cond := range []objectstore.Condition{{}, {IfAbsent: true}} {
			if _, err := s.Put(t.Context(), key, nil, cond); err == nil {
				t.Errorf("Put(%q, %+v): got nil, want an error", key, cond)
			}
		}
		_ = s.Delete(t.Context(), key, objectstore.Condition{})
	}
	wantKeys(t, s, "")
	wantKeys(t, s, "x")
	for _, prefix := range []string{"dir/", "t/data/"} {
		if page, err := s.List(t.Context(), objectstore.ListOptions{Prefix: prefix}); len(page.Objects) > 0 {
			t.Errorf("List(%q): got %+v, %v, want nothing", prefix, page, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(data) != "secret" {
		t.Errorf("file outside: got %q, %v, want it unchanged", data, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("directory outside: got %v, %v, want one file", entries, err)
	}
}

// A link to another folder of the root is not followed either, in one call or step by step, because
// a program that may write to one folder may not reach others.
func TestLinksWithinRootAreNotFollowed(t *testing.T) {
	ways := map[string]func(*Store, string, int) (*handle, error){"in one call": (*Store).open, "step by step": (*Store).walk}
	s := open(t)
	mustPut(t, s, "_catalog/records/secret", "secret")
	mustPut(t, s, "tenant/t.lance/_versions/1.manifest", "secret")
	mkdir(t, s, "landing")
	links := map[string]string{
		"landing/t.lance": "../tenant/t.lance", "landing/catalog": "../_catalog", "landing/file": "../_catalog/records/secret",
		"landing/here": ".", "landing/own": "../_tiltyard", "all": ".",
	}
	for name, target := range links {
		if err := s.root.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{
		"landing/file", "landing/t.lance/_versions/1.manifest", "landing/catalog/records/secret", "landing/here/file",
		"all/tenant/t.lance/_versions/1.manifest", "landing/own/tmp",
	} {
		for way, opened := range ways {
			if h, err := opened(s, key, unix.O_RDONLY); !errors.Is(err, objectstore.ErrLink) {
				t.Errorf("open %q %s: got %v, %v, want ErrLink", key, way, h, err)
			}
		}
		if data, _, err := s.Get(t.Context(), key); !errors.Is(err, objectstore.ErrNotExist) {
			t.Errorf("Get(%q): got %q, %v, want ErrNotExist", key, data, err)
		}
		if err := s.Delete(t.Context(), key, objectstore.Condition{}); err != nil {
			t.Errorf("Delete(%q): %v", key, err)
		}
	}
	for _, key := range []string{"landing/t.lance/_versions/2.manifest", "landing/catalog/records/new", "landing/catalog/new/x", "landing/here/x", "all/x"} {
		for _, cond := range []objectstore.Condition{{}, {IfAbsent: true}} {
			if _, err := s.Put(t.Context(), key, nil, cond); !errors.Is(err, objectstore.ErrLink) {
				t.Errorf("Put(%q, %+v): got %v, want ErrLink", key, cond, err)
			}
		}
		w, err := s.Create(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(); !errors.Is(err, objectstore.ErrLink) {
			t.Errorf("Create(%q): got %v, want ErrLink", key, err)
		}
	}
	wantKeys(t, s, "landing/t.lance/")
	wantKeys(t, s, "landing/catalog/")
	wantKeys(t, s, "all/")
	wantKeys(t, s, "", "_catalog/records/secret", "tenant/t.lance/_versions/1.manifest")
	for way, opened := range ways {
		h, err := opened(s, "tenant/t.lance/_versions/1.manifest", unix.O_RDONLY)
		if err != nil {
			t.Errorf("open %s: %v", way, err)
			continue
		}
		_ = h.Close()
	}
}

func TestForeignEntries(t *testing.T) {
	s := open(t)
	root := s.root.Name()
	mkdir(t, s, "t/_versions")
	mkdir(t, s, "t/"+strings.Repeat("n", 250)) // no key spells this name
	mkdir(t, s, "t/"+strings.Repeat("p", 200)+"~")
	for _, name := range []string{
		"t/_versions/1.manifest", "t/_versions/1.manifest#1", "t/" + strings.Repeat("n", 250) + "/x",
		"t/" + strings.Repeat("p", 200) + "~/unmarked", "t/\xff", "t/" + strings.Repeat("q", 200) + "~",
	} {
		writeFile(t, filepath.Join(root, name), "x")
	}
	if err := unix.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, s, "", "t/_versions/1.manifest", "t/_versions/1.manifest#1")
	if _, _, err := s.Get(t.Context(), "pipe"); !errors.Is(err, objectstore.ErrNotExist) {
		t.Errorf("Get of a pipe: got %v, want ErrNotExist", err)
	}
	if _, err := s.Put(t.Context(), "t/_versions/1.manifest", nil, objectstore.Condition{IfAbsent: true}); !errors.Is(err, objectstore.ErrPrecondition) {
		t.Errorf("Put of what is there: got %v, want ErrPrecondition", err)
	}
}

func TestOpenRemovesStaleFiles(t *testing.T) {
	root := t.TempDir()
	s := openAt(t, root)
	for name, age := range map[string]time.Duration{"old": 2 * time.Hour, "young": 30 * time.Minute} {
		path := filepath.Join(root, tempDir, name)
		writeFile(t, path, "half")
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	openAt(t, root)
	if got, want := names(t, s, tempDir), []string{"young"}; !slices.Equal(got, want) {
		t.Errorf("unfinished files: got %q, want %q", got, want)
	}
}

func mustPut(t testing.TB, s *Store, key, value string) objectstore.Info {
	t.Helper()
	info, err := s.Put(t.Context(), key, []byte(value), objectstore.Condition{})
	if err != nil {
		t.Fatalf("Put(%.80q): got %v, want nil", key, err)
	}
	return info
}

func wantKeys(t testing.TB, s *Store, prefix string, want ...string) {
	t.Helper()
	page, err := s.List(t.Context(), objectstore.ListOptions{Prefix: prefix})
	if err != nil {
		t.Fatalf("List(%q): got %v, want nil", prefix, err)
	}
	var got []string
	for _, o := range page.Objects {
		got = append(got, o.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("List(%q): got %q, want %q", prefix, got, want)
	}
}

func wantNoTemp(t testing.TB, s *Store) {
	t.Helper()
	if got := names(t, s, tempDir); len(got) > 0 {
		t.Errorf("unfinished files: got %q, want none", got)
	}
}

func names(t testing.TB, s *Store, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.root.Name(), dir))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	return got
}

func mkdir(t testing.TB, s *Store, dir string) {
	t.Helper()
	if err := s.root.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t testing.TB, path, value string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
		t.Fatal(err)
	}
}
