package s3store

import (
	"strings"
	"testing"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// newLooseServer is newServer of a server whose conditional deletes cannot be relied on.
func newLooseServer(t *testing.T, lacks bool) (*fakeServer, *Store) {
	t.Helper()
	server, store, _ := newServer(t)
	store.server.isS3 = false
	store.server.bareETags.Store(new(bool))
	server.lacks = lacks
	if !lacks {
		server.looks = func() {}
	}
	return server, store
}

func TestLooseDeletesAreExact(t *testing.T) {
	for name, lacks := range map[string]bool{"look first": false, "not implemented": true} {
		for _, c := range []struct{ there, want, left string }{
			{"old", "", ""},
			{"other", "precondition", "other"},
			{"", "precondition", ""},
		} {
			t.Run(name+" "+c.there, func(t *testing.T) {
				server, store := newLooseServer(t, lacks)
				if c.there != "" {
					server.objects["k"] = c.there
				}
				if err := store.Delete(t.Context(), "k", ifOld); sentinels(err) != c.want {
					t.Errorf("got error %v, want %q", err, c.want)
				}
				requests, left, exists, _ := server.state()
				if left != c.left || exists != (c.left != "") {
					t.Errorf("object is %q after %q, want %q", left, requests, c.left)
				}
				asked := len(requests)
				_ = store.Delete(t.Context(), "other", ifOld)
				if requests, _, _, _ := server.state(); len(requests) != asked+1 {
					t.Errorf("the server was asked again: %q", requests)
				}
			})
		}
	}
}

// Some servers look first and then delete, although they refuse the delete of a missing object.
func TestServersThatDeleteInTwoStepsAreKnownByName(t *testing.T) {
	for name, exact := range map[string]bool{"": true, "AmazonS3": true, "SeaweedFS 30GB 4.53": false} {
		server, store := newLooseServer(t, false)
		server.looks, server.name = nil, name
		server.objects["k"] = "old"
		got, err := store.exactDeletes(t.Context())
		if err != nil || got != exact {
			t.Errorf("%q: exact is %v, %v; want %v", name, got, err, exact)
		}
		if err := store.Delete(t.Context(), "k", ifOld); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// While a delete is on its way, another one and a put of a new object arrive.
func TestDeleteThatIsSlowRemovesNoNewObject(t *testing.T) {
	server, store := newLooseServer(t, false)
	server.objects["k"] = "old"
	made := false
	server.looks = func() {
		if server.objects["k"] == "old" {
			delete(server.objects, "k")
		}
		if _, exists := server.objects["k"]; !exists && !made {
			made = true
			server.objects["k"] = "new"
		}
	}
	if _, err := store.exactDeletes(t.Context()); err != nil {
		t.Fatal(err)
	}
	made = false
	delete(server.objects, "k")
	server.objects["k"] = "old"
	if err := store.Delete(t.Context(), "k", ifOld); err != nil {
		t.Fatal(err)
	}
	if _, object, exists, _ := server.state(); made && object != "new" || !made && exists {
		t.Errorf("object is %q, %v, after a new one was made: %v", object, exists, made)
	}
}

func TestMarksCountAsAbsent(t *testing.T) {
	server, store := newLooseServer(t, false)
	server.objects["k"], server.objects["l"] = mark, strings.ToUpper(mark)
	ctx := t.Context()
	_, _, err := store.Get(ctx, "k")
	if sentinels(err) != "not exist" {
		t.Errorf("Get: got %v, want ErrNotExist", err)
	}
	for _, r := range [][]objectstore.Range{nil, {{Length: 4}}, {{Offset: -4}}, {{Offset: 1 << 20, Length: 1}}} {
		if _, _, err := store.GetRanges(ctx, "k", r...); sentinels(err) != "not exist" {
			t.Errorf("GetRanges(%v): got %v, want ErrNotExist", r, err)
		}
	}
	if _, _, err := store.GetRanges(ctx, "l", objectstore.Range{Length: 4}); err != nil {
		t.Errorf("another object of the size of a mark: got %v, want nil", err)
	}
	if page, err := store.List(ctx, objectstore.ListOptions{}); err != nil || len(page.Objects) != 1 || page.Objects[0].Key != "l" {
		t.Errorf("List: got %+v, %v, want l alone", page.Objects, err)
	}
}

func TestMarksOfACrashAreReplaced(t *testing.T) {
	server, store := newLooseServer(t, false)
	server.objects["k"] = mark
	server.modified = time.Now()
	_, err := store.Put(t.Context(), "k", []byte("new"), ifAbsent)
	if _, object, _, _ := server.state(); sentinels(err) != "precondition" || object != mark {
		t.Errorf("a mark that may still be deleted: got %v and %q, want ErrPrecondition", err, object)
	}
	server.modified = time.Now().Add(-2 * markAge)
	_, err = store.Put(t.Context(), "k", []byte("new"), ifAbsent)
	if _, object, _, _ := server.state(); err != nil || object != "new" {
		t.Errorf("an old mark: got %v and %q, want the new object", err, object)
	}
	_, err = store.Put(t.Context(), "k", []byte("newer"), ifAbsent)
	if _, object, _, _ := server.state(); sentinels(err) != "precondition" || object != "new" {
		t.Errorf("another object: got %v and %q, want ErrPrecondition", err, object)
	}
}
