package s3store

import (
	"slices"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

// newBareServer returns a fake server whose conditions expect ETags without quotes, like radosgw.
func newBareServer(t *testing.T) (*fakeServer, *Store) {
	t.Helper()
	server, store, _ := newServer(t)
	server.bare, store.server.isS3 = true, false
	return server, store
}

func TestPutsIfUnchangedWhereETagsHaveNoQuotes(t *testing.T) {
	for _, c := range []struct {
		there, want, left string
		requests          []string
	}{
		{"old", "", "new", []string{"PUT k", "HEAD k", "PUT k"}},
		{"other", "precondition", "other", []string{"PUT k", "HEAD k"}},
		{"", "precondition", "", []string{"PUT k", "HEAD k"}},
	} {
		t.Run(c.there, func(t *testing.T) {
			server, store := newBareServer(t)
			if c.there != "" {
				server.objects["k"] = c.there
			}
			_, err := store.Put(t.Context(), "k", []byte("new"), ifOld)
			requests, left, _, _ := server.state()
			if sentinels(err) != c.want || left != c.left || !slices.Equal(requests, c.requests) {
				t.Errorf("got %v and %q after %q, want %q and %q after %q", err, left, requests, c.want, c.left, c.requests)
			}
		})
	}
}

// The detection by the first put applies to later puts, also if that put is refused.
func TestETagsAreTriedOnce(t *testing.T) {
	for name, bare := range map[string]bool{"bare": true, "quoted": false} {
		t.Run(name, func(t *testing.T) {
			server, store := newBareServer(t)
			server.bare = bare
			server.objects["k"] = "old"
			info, err := store.Put(t.Context(), "k", []byte("new"), ifOld)
			if err != nil {
				t.Fatal(err)
			}
			begun, _, _, _ := server.state()
			if _, err := store.Put(t.Context(), "k", []byte("newer"), ifOld); sentinels(err) != "precondition" {
				t.Errorf("a stale ETag: got %v, want ErrPrecondition", err)
			}
			if _, err := store.Put(t.Context(), "k", []byte("newest"), objectstore.Condition{IfMatch: info.ETag}); err != nil {
				t.Error(err)
			}
			if requests, object, _, _ := server.state(); object != "newest" || !slices.Equal(requests[len(begun):], []string{"PUT k", "PUT k"}) {
				t.Errorf("object is %q after %q, want the newest after two puts", object, requests[len(begun):])
			}
		})
	}
}

// An object has one ETag, however the server writes it.
func TestETagsOfUploadsAreThoseOfReads(t *testing.T) {
	_, store := newBareServer(t)
	w, err := store.Create(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content(firstPart + 1)); err != nil {
		t.Fatal(err)
	}
	made, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if _, read, err := store.Get(t.Context(), "k"); err != nil || read.ETag != made.ETag {
		t.Errorf("got %s, %v; want %s", read.ETag, err, made.ETag)
	}
}
