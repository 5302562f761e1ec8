package diskstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// bigDir makes a directory with more entries than it takes to be remembered, which was last
// modified at a time, and returns its path.
func bigDir(t *testing.T, root, name string, modified time.Time, entries int) string {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		touch(t, filepath.Join(dir, fmt.Sprintf("%04d", i)))
	}
	setTime(t, dir, modified)
	return dir
}

func touch(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func setTime(t *testing.T, name string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// countPages lists a directory page by page.
func countPages(t *testing.T, s *Store, prefix string) int {
	t.Helper()
	opts, count := objectstore.ListOptions{Prefix: prefix, Limit: 50}, 0
	for {
		page, err := s.List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		count += len(page.Objects)
		if !page.More {
			return count
		}
		opts.StartAfter = page.Objects[len(page.Objects)-1].Key
	}
}

// Tools that copy and restore files set the times of directories back.
func TestListingsDoNotGoByTheTimeOfModificationAlone(t *testing.T) {
	root, then := t.TempDir(), time.Now().Add(-time.Hour)
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := bigDir(t, root, "d", then, 100)
	if got := countPages(t, s, "d/"); got != 100 {
		t.Fatalf("%d objects, want 100", got)
	}
	touch(t, filepath.Join(dir, "one more"))
	setTime(t, dir, then)
	if got := countPages(t, s, "d/"); got != 101 {
		t.Errorf("%d objects after one was added and the time set back, want 101", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	bigDir(t, root, "d", then, 90)
	if got := countPages(t, s, "d/"); got != 90 {
		t.Errorf("%d objects in another directory of that name and time, want 90", got)
	}
}

func TestEntriesAreRememberedOnceNoChangeCanBearTheSameTime(t *testing.T) {
	whole := time.Unix(1_700_000_000, 0)
	fine := whole.Add(123 * time.Millisecond)
	cases := []struct {
		name  string
		state dirState
		after time.Duration // after the last change
		want  bool
	}{
		{"within a tick", dirState{modified: fine.UnixNano(), changed: fine.UnixNano()}, 10 * time.Millisecond, false},
		{"after ticks", dirState{modified: fine.UnixNano(), changed: fine.UnixNano()}, quietTime, true},
		{"changed later", dirState{modified: fine.Add(-time.Hour).UnixNano(), changed: fine.UnixNano()}, 10 * time.Millisecond, false},
		{"a clock of seconds", dirState{modified: whole.UnixNano(), changed: whole.UnixNano()}, 999 * time.Millisecond, false},
		{"a clock of two seconds", dirState{modified: whole.UnixNano(), changed: whole.UnixNano()}, 1999 * time.Millisecond, false},
		{"after a coarse tick", dirState{modified: whole.UnixNano(), changed: whole.UnixNano()}, coarseTime, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			names := newNameCache()
			last := time.Unix(0, max(c.state.modified, c.state.changed))
			names.put("d", c.state, last.Add(c.after), make([]entry, minRemember))
			if _, got := names.get("d", c.state); got != c.want {
				t.Errorf("remembered %v, want %v", got, c.want)
			}
		})
	}
}

// A directory that was removed and made again often gets the same inode number. It is not durable
// because the former one was.
func TestDirectoriesThatAreMadeAgainAreToldApart(t *testing.T) {
	root, seen := t.TempDir(), map[identity]bool{}
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		dir := bigDir(t, root, "d", time.Now(), 1)
		d, err := s.openDir("d")
		if err != nil {
			t.Fatal(err)
		}
		is, err := d.identity()
		if err != nil || is.inode == 0 || seen[is] {
			t.Fatalf("identity %+v (%v), seen before: %v", is, err, seen[is])
		}
		seen[is] = true
		if err := errors.Join(d.Close(), os.RemoveAll(dir)); err != nil {
			t.Fatal(err)
		}
		awaitTick(t, filepath.Join(root, "clock"))
	}
}

// awaitTick returns when the clock of the file system shows a later time. A directory that is
// made durable before it is removed is never made again within one tick of that clock.
func awaitTick(t *testing.T, file string) {
	t.Helper()
	var first time.Time
	for {
		touch(t, file)
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = info.ModTime()
		}
		if info.ModTime().After(first) {
			return
		}
	}
}
