package diskstore

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tiltyard/shared/storage/objectstore"
)

func TestListReadsOnlyWhatItNeeds(t *testing.T) {
	s := open(t)
	for _, key := range []string{"t/_versions/1", "t/_versions/2", "t/data/a/x", "t/data/b/x", "u/x"} {
		mustPut(t, s, key, "x")
	}
	cases := []struct {
		opts objectstore.ListOptions
		dir  string
		want bool // dir is read
	}{
		{objectstore.ListOptions{}, "t/data", true},
		{objectstore.ListOptions{Prefix: "t/_versions/1"}, "t", false},
		{objectstore.ListOptions{Prefix: "t/_versions/1"}, "t/data", false},
		{objectstore.ListOptions{Prefix: "t/_v"}, "t/data", false},
		{objectstore.ListOptions{Delimiter: "/", StartAfter: "t/"}, "t", false},
		{objectstore.ListOptions{Prefix: "t/", Delimiter: "/"}, "u", false},
		{objectstore.ListOptions{Limit: 2}, "t/data/a", true}, // one more, for More
		{objectstore.ListOptions{Limit: 2}, "t/data/b", false},
		{objectstore.ListOptions{StartAfter: "t/data/b/"}, "t/data/a", false},
		{objectstore.ListOptions{StartAfter: "t0"}, "t", false},
	}
	for _, c := range cases {
		wasRead := watch(t, filepath.Join(s.root.Name(), c.dir))
		if _, err := s.List(t.Context(), c.opts); err != nil {
			t.Fatalf("List(%+v): got %v, want nil", c.opts, err)
		}
		if got := wasRead(); got != c.want {
			t.Errorf("List(%+v): got %s read %v, want %v", c.opts, c.dir, got, c.want)
		}
	}
}

// watch returns a function that reports whether dir was read since.
func watch(t *testing.T, dir string) func() bool {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_ACCESS|unix.IN_ONLYDIR); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		buf := make([]byte, 4096)
		n, err := unix.Read(fd, buf)
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
		// An event has 16 bytes, the last four of which are the length of the following name. The length is
		// zero for events on dir itself.
		for n = max(n, 0); n >= unix.SizeofInotifyEvent; {
			size := int(binary.NativeEndian.Uint32(buf[12:]))
			if size == 0 {
				return true
			}
			buf, n = buf[unix.SizeofInotifyEvent+size:], n-unix.SizeofInotifyEvent-size
		}
		return false
	}
}
