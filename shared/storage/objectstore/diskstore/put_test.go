package diskstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tiltyard/shared/storage/objectstore"
)

// File systems that cannot rename to a name that must be free get a link, which does the same.
func TestNamesMustBeFree(t *testing.T) {
	for name, settle := range map[string]func(*temp, *handle, string) error{
		"settle": (*temp).settle, "link": (*temp).link,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			mkdir(t, s, "d/folder")
			writeFile(t, filepath.Join(s.root.Name(), "d/object"), "old")
			d, err := s.openDir("d")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			for base, want := range map[string]error{
				"free": nil, "object": objectstore.ErrPrecondition, "folder": errFolder, "missing/free": unix.ENOENT,
			} {
				file, err := s.newTemp()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := file.file.Write([]byte("new")); err != nil {
					t.Fatal(err)
				}
				if err := settle(file, d, base); !errors.Is(err, want) {
					t.Errorf("%s: got %v, want %v", base, err, want)
				}
				file.discard()
			}
			for base, want := range map[string]string{"free": "new", "object": "old"} {
				if got, err := os.ReadFile(filepath.Join(s.root.Name(), "d", base)); err != nil || string(got) != want {
					t.Errorf("%s holds %q (%v), want %q", base, got, err, want)
				}
			}
			if left := names(t, s, tempDir); len(left) > 0 {
				t.Errorf("unfinished files are left: %q", left)
			}
		})
	}
}
