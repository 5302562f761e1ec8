package s3store

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/outage"
)

var (
	always   = objectstore.Condition{}
	ifAbsent = objectstore.Condition{IfAbsent: true}
	ifOld    = objectstore.Condition{IfMatch: etagOf("old")}

	conflict409 = fault{status: 409, code: "ConditionalRequestConflict"}
	slowDown    = fault{status: 503, code: "SlowDown"}
	internal    = fault{status: 500, code: "InternalError"}
	denied      = fault{status: 403, code: "AccessDenied"}
)

// sentinels lists the sentinel errors in an error, by which callers distinguish it.
func sentinels(err error) string {
	var names []string
	for _, s := range []struct {
		name string
		err  error
	}{
		{"not exist", objectstore.ErrNotExist}, {"precondition", objectstore.ErrPrecondition},
		{"unknown", objectstore.ErrUnknownOutcome}, {"range", objectstore.ErrInvalidRange}, {"canceled", context.Canceled},
	} {
		if errors.Is(err, s.err) {
			names = append(names, s.name)
		}
	}
	if outage.Of(err) != nil {
		names = append(names, "outage")
	}
	if len(names) == 0 && err != nil {
		return "other"
	}
	return strings.Join(names, ", ")
}

func TestWritesThroughFaults(t *testing.T) {
	const attempts, conflicts = 5, 20
	cases := []struct {
		name     string
		there    string // the object before, if any
		cond     objectstore.Condition
		faults   []fault
		always   *fault
		want     string // sentinels
		object   string // afterwards
		requests int
	}{
		{"absent", "", ifAbsent, nil, nil, "", "new", 1},
		{"absent, is there", "old", ifAbsent, nil, nil, "precondition", "old", 1},
		{"absent, 409", "", ifAbsent, []fault{conflict409, conflict409}, nil, "", "new", 3},
		{"absent, 409, is there", "old", ifAbsent, []fault{conflict409}, nil, "precondition", "old", 2},
		{"absent, 409 for ever", "", ifAbsent, nil, &conflict409, "outage", "", attempts + conflicts},
		{"absent, 500", "", ifAbsent, []fault{internal}, nil, "", "new", 2},
		{"absent, 503 slow down", "", ifAbsent, []fault{slowDown, slowDown}, nil, "", "new", 3},
		{"absent, 503 for ever", "", ifAbsent, nil, &slowDown, "unknown, outage", "", attempts},
		{"absent, 429 for ever", "", ifAbsent, nil, &fault{status: 429, code: "TooManyRequests"}, "outage", "", attempts},
		{"absent, reset", "", ifAbsent, []fault{{reset: true}}, nil, "", "new", 2},
		{"absent, answer lost", "", ifAbsent, []fault{{lost: true}}, nil, "unknown", "new", 2},
		{"absent, written and 500", "", ifAbsent, []fault{{after: 500}}, nil, "unknown", "new", 2},
		{"absent, 409, answer lost", "", ifAbsent, []fault{conflict409, {lost: true}}, nil, "unknown", "new", 3},
		{"absent, 500, another was first", "", ifAbsent, []fault{internal, {before: puts("other")}}, nil, "unknown", "other", 2},
		{"absent, answer lost, then denied", "", ifAbsent, []fault{{lost: true}, denied}, nil, "unknown", "new", 2},
		{"absent, denied", "", ifAbsent, []fault{denied}, nil, "other", "", 1},
		{"absent, no bucket", "", ifAbsent, []fault{{status: 404, code: "NoSuchBucket"}}, nil, "outage", "", 1},
		{"absent, not implemented", "", ifAbsent, []fault{{status: 501, code: "NotImplemented"}}, nil, "other", "", 1},
		{"absent, clocks differ", "", ifAbsent, []fault{{status: 403, code: "RequestTimeTooSkewed"}}, nil, "", "new", 2},
		{"absent, answer stalls", "", ifAbsent, []fault{{stall: true}}, nil, "", "new", 2},
		{"absent, stalls, another was first", "", ifAbsent, []fault{{stall: true}, {before: puts("other")}}, nil, "unknown", "other", 2},
		{"absent, stalls, sent beside and carried out later", "", ifAbsent, []fault{{late: true}}, nil, "", "new", 2},
		{"absent, stalls, carried out, and sent beside", "", ifAbsent, []fault{{held: true}}, nil, "", "new", 2},
		{"absent, stalls, is there", "old", ifAbsent, []fault{{held: true}}, nil, "precondition", "old", 2},
		{"match, stalls, carried out, and sent beside", "old", ifOld, []fault{{held: true}}, nil, "", "new", 2},
		{"match", "old", ifOld, nil, nil, "", "new", 1},
		{"match, is another", "other", ifOld, nil, nil, "precondition", "other", 1},
		{"match, is gone", "", ifOld, nil, nil, "precondition", "", 1},
		{"match, no bucket", "old", ifOld, []fault{{status: 404, code: "NoSuchBucket"}}, nil, "outage", "old", 1},
		{"match, is gone, as a broken answer tells", "", ifOld, []fault{{status: 404, code: "NoSuchKey", cut: true}}, nil, "precondition", "", 2},
		{"match, 409", "old", ifOld, []fault{conflict409}, nil, "", "new", 2},
		{"match, answer lost", "old", ifOld, []fault{{lost: true}}, nil, "unknown", "new", 2},
		{"match, written and 500", "old", ifOld, []fault{{after: 500}}, nil, "unknown", "new", 2},
		{"match, 500 and gone", "old", ifOld, []fault{internal, {before: deletes}}, nil, "unknown", "", 2},
		{"always, 500", "old", always, []fault{internal}, nil, "", "new", 2},
		{"always, answer lost", "", always, []fault{{lost: true}}, nil, "", "new", 2},
		{"always, 500 for ever", "old", always, nil, &internal, "unknown, outage", "old", attempts},
		{"always, denied", "old", always, []fault{denied}, nil, "other", "old", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, store, log := newServer(t)
			if c.there != "" {
				server.objects["k"] = c.there
			}
			server.faults, server.always = c.faults, c.always
			if strings.Contains(c.name, "stalls") {
				store.pace.brief = 400 * time.Millisecond
			}
			info, err := store.Put(t.Context(), "k", []byte("new"), c.cond)
			if got := sentinels(err); got != c.want {
				t.Errorf("got error %v (%s), want %q", err, got, c.want)
			}
			if err == nil && (info.ETag != etagOf("new") || info.Size != 3 || time.Since(info.Modified).Abs() > time.Minute) {
				t.Errorf("got %+v, want that of the object", info)
			}
			requests, object, _, _ := server.state()
			if object != c.object {
				t.Errorf("object is %q, want %q", object, c.object)
			}
			if len(requests) != c.requests {
				t.Errorf("got %d requests, want %d: %q", len(requests), c.requests, requests)
			}
			if got := strings.Count(log.String(), "sent again") + strings.Count(log.String(), "sent once more"); got != c.requests-1 {
				t.Errorf("the log tells of %d further attempts, want %d:\n%s", got, c.requests-1, log)
			}
		})
	}
}

func puts(data string) func(*fakeServer) { return func(s *fakeServer) { s.objects["k"] = data } }

func deletes(s *fakeServer) { delete(s.objects, "k") }

func TestDeletesThroughFaults(t *testing.T) {
	cases := []struct {
		name     string
		there    string
		cond     objectstore.Condition
		faults   []fault
		want     string
		object   string
		requests int
	}{
		{"always, answer lost", "old", always, []fault{{lost: true}}, "", "", 2},
		{"match", "old", ifOld, nil, "", "", 1},
		{"match, is another", "other", ifOld, nil, "precondition", "other", 1},
		{"match, is gone", "", ifOld, nil, "precondition", "", 1},
		{"match, 409", "old", ifOld, []fault{conflict409}, "", "", 2},
		{"match, 500", "old", ifOld, []fault{internal}, "", "", 2},
		{"match, answer lost", "old", ifOld, []fault{{lost: true}}, "unknown", "", 2},
		{"denied", "old", always, []fault{denied}, "other", "old", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, store, _ := newServer(t)
			if c.there != "" {
				server.objects["k"] = c.there
			}
			server.faults = c.faults
			err := store.Delete(t.Context(), "k", c.cond)
			if got := sentinels(err); got != c.want {
				t.Errorf("got error %v (%s), want %q", err, got, c.want)
			}
			requests, object, _, _ := server.state()
			if object != c.object || len(requests) != c.requests {
				t.Errorf("object is %q after %q, want %q after %d requests", object, requests, c.object, c.requests)
			}
		})
	}
}

func TestReadsThroughFaults(t *testing.T) {
	cases := []struct {
		name     string
		faults   []fault
		always   *fault
		want     string
		requests int
	}{
		{"500 and slow down", []fault{internal, slowDown}, nil, "", 3},
		{"reset", []fault{{reset: true}}, nil, "", 2},
		{"broken off", []fault{{cut: true}}, nil, "", 2},
		{"broken off for ever", nil, &fault{cut: true}, "outage", 5},
		{"stalls", []fault{{stall: true}}, nil, "", 2},
		{"denied", []fault{denied}, nil, "other", 1},
		{"no bucket", []fault{{status: 404, code: "NoSuchBucket"}}, nil, "outage", 1},
		{"slow down for ever", nil, &slowDown, "outage", 5},
		{"gone", []fault{{before: deletes}}, nil, "not exist", 1},
	}
	reads := map[string]func(context.Context, *Store) (string, error){
		"get": func(ctx context.Context, s *Store) (string, error) {
			data, _, err := s.Get(ctx, "k")
			return string(data), err
		},
		"range": func(ctx context.Context, s *Store) (string, error) {
			parts, _, err := s.GetRanges(ctx, "k", objectstore.Range{Offset: 2, Length: 5})
			if err != nil {
				return "", err
			}
			return "ab" + string(parts[0]) + "h", nil
		},
		"suffix": func(ctx context.Context, s *Store) (string, error) {
			parts, _, err := s.GetRanges(ctx, "k", objectstore.Range{Offset: -6})
			if err != nil {
				return "", err
			}
			return "ab" + string(parts[0]), nil
		},
	}
	for _, c := range cases {
		for name, read := range reads {
			t.Run(name+" "+c.name, func(t *testing.T) {
				server, store, _ := newServer(t)
				server.objects["k"] = "abcdefgh"
				server.faults, server.always = c.faults, c.always
				if c.name == "stalls" {
					store.pace.brief = 400 * time.Millisecond
				}
				got, err := read(t.Context(), store)
				if s := sentinels(err); s != c.want || err == nil && got != "abcdefgh" {
					t.Errorf("got %q, %v (%s), want the object or %q", got, err, s, c.want)
				}
				if requests, _, _, _ := server.state(); len(requests) != c.requests {
					t.Errorf("got %d requests, want %d", len(requests), c.requests)
				}
			})
		}
	}
}

func TestChecksumsAreCompared(t *testing.T) {
	server, store, _ := newServer(t)
	server.objects["k"] = "abcdefgh"
	server.faults = []fault{{wrong: true}}
	if data, _, err := store.Get(t.Context(), "k"); err != nil || string(data) != "abcdefgh" {
		t.Errorf("once wrong: got %q, %v, want the object", data, err)
	}
	server.always = &fault{wrong: true}
	if data, _, err := store.Get(t.Context(), "k"); err == nil {
		t.Errorf("always wrong: got %q, want an error", data)
	}
}

func TestKeysThatAreTooLong(t *testing.T) {
	server, store, _ := newServer(t)
	longest := strings.Repeat("k", maxKeyBytes-len("root/"))
	if _, err := store.Put(t.Context(), longest, nil, ifAbsent); err != nil {
		t.Errorf("longest key: got %v, want nil", err)
	}
	if _, err := store.Put(t.Context(), longest+"k", nil, ifAbsent); !errors.Is(err, objectstore.ErrInvalidKey) {
		t.Errorf("longer key: got %v, want ErrInvalidKey", err)
	}
	if requests, _, _, _ := server.state(); len(requests) != 1 {
		t.Errorf("got %d requests, want one", len(requests))
	}
}

func TestRangesOfAServerThatIgnoresThem(t *testing.T) {
	server, store, _ := newServer(t)
	server.objects["k"] = "abcdefgh"
	server.always = &fault{whole: true}
	parts, _, err := store.GetRanges(t.Context(), "k", objectstore.Range{Length: 8})
	if err != nil || string(parts[0]) != "abcdefgh" {
		t.Errorf("range of everything: got %q, %v, want it", parts, err)
	}
	if _, _, err := store.GetRanges(t.Context(), "k", objectstore.Range{Offset: 1, Length: 2}); sentinels(err) != "other" {
		t.Errorf("range of a part: got %v, want an error", err)
	}
}

func TestRangesComeFromOneObject(t *testing.T) {
	server, store, _ := newServer(t)
	server.objects["k"] = "aaaaaaaa"
	server.faults = []fault{{}, {before: puts("bbbbbbbb")}, {before: puts("cccccccc")}}
	parts, info, err := store.GetRanges(t.Context(), "k", objectstore.Range{Length: 2}, objectstore.Range{Offset: 8}, objectstore.Range{Offset: -2})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(parts[0]) + string(parts[2]); got != strings.Repeat(got[:1], 4) || info.ETag != etagOf(strings.Repeat(got[:1], 8)) {
		t.Errorf("got %q of %+v, want the bytes of one object and its Info", parts, info)
	}
	if requests, _, _, _ := server.state(); len(requests) < 4 {
		t.Errorf("got %d requests, want both ranges read again", len(requests))
	}
}

func TestListThroughFaults(t *testing.T) {
	server, store, _ := newServer(t)
	server.objects["a"], server.objects["folder/"] = "x", "" // and the mark of a folder
	server.faults = []fault{slowDown, {cut: true}, {reset: true}}
	page, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil || len(page.Objects) != 1 || page.Objects[0].Key != "a" {
		t.Errorf("got %+v, %v, want a", page, err)
	}
	if requests, _, _, _ := server.state(); len(requests) != 4 {
		t.Errorf("got %d requests, want 4", len(requests))
	}
}

func TestCancelledWriteIsUnknown(t *testing.T) {
	server, store, _ := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	server.faults = []fault{{before: func(*fakeServer) { cancel() }, stall: true}}
	_, err := store.Put(ctx, "k", nil, ifAbsent)
	if got, want := sentinels(err), "unknown, canceled"; got != want {
		t.Errorf("cancelled on its way: got %v (%s), want %s", err, got, want)
	}
	_, err = store.Put(ctx, "k", nil, ifAbsent)
	if got, want := sentinels(err), "canceled"; got != want {
		t.Errorf("cancelled before: got %v (%s), want %s", err, got, want)
	}
}

func TestServerThatCannotBeReached(t *testing.T) {
	h := httptest.NewServer(nil)
	h.Close()
	store := openStore(t, configOf(h.URL), io.Discard)
	_, err := store.Put(t.Context(), "k", nil, ifAbsent)
	if got := sentinels(err); got != "outage" || !strings.Contains(err.Error(), "after 5 attempts") {
		t.Errorf("got %v (%s), want an error of five attempts whose outcome is known", err, got)
	}
}

// content is bytes that are not alike anywhere.
func content(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func TestUploadsThroughFaults(t *testing.T) {
	const parts = 3 // of content
	cases := []struct {
		name   string
		faults []fault
		always *fault
		want   string
		exists bool
	}{
		{"none", nil, nil, "", true},
		{"begin 500", []fault{internal}, nil, "", true},
		{"begin denied", []fault{denied}, nil, "other", false},
		{"part broken", []fault{{}, internal, {reset: true}, {lost: true}, slowDown}, nil, "", true},
		{"part denied", []fault{{}, {}, denied}, nil, "other", false},
		{"complete 500", []fault{{}, {}, {}, {}, internal}, nil, "", true},
		{"complete 200 with an error", []fault{{}, {}, {}, {}, {status: 200, code: "InternalError"}}, nil, "", true},
		{"complete answers half", []fault{{}, {}, {}, {}, {cut: true}}, nil, "unknown", true},
		{"complete lost", []fault{{}, {}, {}, {}, {lost: true}}, nil, "unknown", true},
		{"complete denied", []fault{{}, {}, {}, {}, denied}, nil, "other", false},
	}
	data := content((parts-1)*firstPart + 100)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, store, _ := newServer(t)
			server.faults, server.always = c.faults, c.always
			err := stream(t.Context(), store, data)
			if got := sentinels(err); got != c.want {
				t.Errorf("got error %v (%s), want %q", err, got, c.want)
			}
			requests, got, exists, open := server.state()
			if exists != c.exists || exists && got != string(data) {
				t.Errorf("object is there: %v, with what was written: %v; want it there: %v", exists, got == string(data), c.exists)
			}
			if err != nil && open > 0 {
				t.Errorf("the upload was not aborted: %q", requests)
			}
		})
	}
}

// stream writes data in pieces of odd sizes.
func stream(ctx context.Context, s *Store, data []byte) error {
	w, err := s.Create(ctx, "k")
	if err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), 3_333_333)
		if _, err := w.Write(data[:n]); err != nil {
			return errors.Join(err, w.Abort())
		}
		data = data[n:]
	}
	_, err = w.Commit()
	return err
}

func TestSmallUploadsAreOnePut(t *testing.T) {
	server, store, _ := newServer(t)
	if err := stream(t.Context(), store, content(firstPart)); err != nil {
		t.Fatal(err)
	}
	requests, _, _, _ := server.state()
	if diff := cmp.Diff([]string{"PUT k"}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
