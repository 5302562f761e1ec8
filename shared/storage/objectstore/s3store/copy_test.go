package s3store

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tiltyard/shared/storage/objectstore"
)

func TestCopiesThroughFaults(t *testing.T) {
	six := strings.Repeat("abcde", 2*minPart/5)
	eight := six + "gh"
	internal := fault{status: 500, code: "InternalError"}
	for _, c := range []struct {
		name   string
		source string
		faults []fault
		always *fault
		want   string // the name of the error
		object string // the existing object
	}{
		{"whole", "abcd", nil, nil, "", "abcd"},
		{"empty", "", nil, nil, "", ""},
		{"in parts", eight, nil, nil, "", eight},
		{"in parts of the same size", six, nil, nil, "", six},
		{"whole, 500", "abcd", []fault{internal}, nil, "", "abcd"},
		{"whole, answer lost", "abcd", []fault{{lost: true}}, nil, "", "abcd"},
		{"whole, error after a good status", "abcd", []fault{{status: 200, code: "InternalError"}}, nil, "", "abcd"},
		{"whole, 500 for ever", "abcd", nil, &internal, "unknown, outage", "-"},
		{"in parts, begin 500", eight, []fault{internal}, nil, "", eight},
		{"in parts, a part is lost", eight, []fault{{}, {lost: true}}, nil, "", eight},
		{"in parts, error after a good status", eight, []fault{{}, {status: 200, code: "InternalError"}}, nil, "", eight},
		{"whole, was replaced", "abcd", []fault{{before: replaces, status: 412, code: "PreconditionFailed"}}, nil, "precondition", "-"},
		{"in parts, was replaced", eight, []fault{{}, {before: replaces}}, nil, "precondition", "-"},
		{"whole, denied", "abcd", []fault{{status: 403, code: "AccessDenied"}}, nil, "other", "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, store, _ := newServer(t)
			store.copies = copySize{whole: 4, part: minPart}
			server.objects["a b+c"] = c.source
			server.objects["k"] = "-"
			server.faults, server.always = c.faults, c.always
			was := objectstore.Info{Key: "a b+c", Size: int64(len(c.source)), ETag: etagOf(c.source)}
			err := store.CopyFrom(t.Context(), objectstore.WatchWrites(store), was, "k")
			if got := sentinels(err); got != c.want {
				t.Errorf("got error %v (%s), want %q", err, got, c.want)
			}
			requests, object, _, uploads := server.state()
			if object != c.object || uploads > 0 {
				t.Errorf("object is %.10q…, and %d uploads are left, want %.10q… and none, after %q", object, uploads, c.object, requests)
			}
		})
	}
}

// AWS_REQUEST_CHECKSUM_CALCULATION=when_required turns checksums off, for servers that do not take them.
func TestUploadsWithoutChecksums(t *testing.T) {
	server, store, _ := newServer(t)
	cfg := configOf(*store.client.Options().BaseEndpoint)
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	store = openStore(t, cfg, io.Discard)
	data := content(firstPart + 1)
	if err := stream(t.Context(), store, data); err != nil {
		t.Fatal(err)
	}
	server.objects["a b+c"] = string(data)
	store.copies = copySize{whole: 1, part: firstPart}
	was := objectstore.Info{Key: "a b+c", Size: int64(len(data)), ETag: etagOf(string(data))}
	if err := store.CopyFrom(t.Context(), store, was, "k"); err != nil {
		t.Error(err)
	}
	if server.sums != 0 {
		t.Errorf("got %d checksums, want none", server.sums)
	}
}

// A server that copies whatever is there makes no copy of another object, and keeps a copy that has another ETag.
func TestCopiesWithoutConditions(t *testing.T) {
	for name, source := range map[string]string{"whole": "abcd", "in parts": strings.Repeat("abcde", 2*minPart/5)} {
		for replaced, want := range map[bool]string{false: "", true: "precondition"} {
			t.Run(fmt.Sprint(name, " replaced ", replaced), func(t *testing.T) {
				server, store := newBareServer(t)
				store.copies = copySize{whole: 4, part: minPart}
				server.objects["a b+c"] = source
				was := objectstore.Info{Key: "a b+c", Size: int64(len(source)), ETag: etagOf(source)}
				if replaced {
					server.objects["a b+c"] = strings.ToUpper(source)
				}
				if err := store.CopyFrom(t.Context(), store, was, "k"); sentinels(err) != want {
					t.Errorf("got %v, want %q", err, want)
				}
				requests, object, exists, uploads := server.state()
				if exists == replaced || !replaced && object != source || uploads > 0 {
					t.Errorf("object is %.10q…, and %d uploads are left, after %q", object, uploads, requests)
				}
			})
		}
	}
}

func replaces(s *fakeServer) { s.objects["a b+c"] = "other text" }

func TestCopiesFromElsewhereAreUnsupported(t *testing.T) {
	_, store, _ := newServer(t)
	_, other, _ := newServer(t)
	if err := store.CopyFrom(t.Context(), other, objectstore.Info{Key: "a"}, "k"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("copy from a store with another client: %v, want ErrUnsupported", err)
	}
}
