package s3store_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/s3store"
)

// openUploads is a server that has uploads, which it lists in pages of two. Every second one is young.
type openUploads struct {
	mu   sync.Mutex
	keys []string // of the uploads 0, 1, …; empty when one was aborted
	gone string   // is answered with 404 when it is to be aborted
	mute bool     // names are encoded and markers are not, without a declaration, as with radosgw
}

var uploadsBegun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (o *openUploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := r.URL.Query()
	if r.Method == http.MethodDelete {
		id, err := strconv.Atoi(q.Get("uploadId"))
		if err != nil || id >= len(o.keys) || r.URL.Path != "/bucket/root/"+o.keys[id] {
			http.Error(w, "<Error><Code>NoSuchUpload</Code></Error>", http.StatusNotFound)
			return
		}
		if o.keys[id] == o.gone {
			http.Error(w, "<Error><Code>NoSuchUpload</Code></Error>", http.StatusNotFound)
		} else {
			w.WriteHeader(http.StatusNoContent)
		}
		o.keys[id] = ""
		return
	}
	first := 0
	if marker := q.Get("upload-id-marker"); marker != "" {
		last, err := strconv.Atoi(marker)
		if err != nil || q.Get("key-marker") != "root/k "+marker {
			http.Error(w, "<Error><Code>InvalidArgument</Code></Error>", http.StatusBadRequest)
			return
		}
		first = last + 1
	}
	var page bytes.Buffer
	listed, last := 0, 0
	for i := first; i < len(o.keys) && listed < 2; i++ {
		if o.keys[i] != "" && q.Get("prefix") == "root/" {
			begun := uploadsBegun.Add(time.Duration(i%2) * time.Hour)
			fmt.Fprintf(&page, "<Upload><Key>%s</Key><UploadId>%d</UploadId><Initiated>%s</Initiated></Upload>",
				o.encoded("root/"+o.keys[i]), i, begun.Format(time.RFC3339))
			listed, last = listed+1, i
		}
	}
	encoding, marker := "<EncodingType>url</EncodingType>", fmt.Sprintf("root/k %d", last)
	if o.mute {
		encoding = ""
	} else {
		marker = url.QueryEscape(marker)
	}
	fmt.Fprintf(w, "<ListMultipartUploadsResult>%s%s<IsTruncated>%t</IsTruncated>"+
		"<NextKeyMarker>%s</NextKeyMarker><NextUploadIdMarker>%d</NextUploadIdMarker></ListMultipartUploadsResult>",
		encoding, &page, listed == 2, marker, last)
}

// encoded returns a key as the server lists it.
func (o *openUploads) encoded(key string) string {
	if o.mute {
		return (&url.URL{Path: key}).EscapedPath()
	}
	return url.QueryEscape(key)
}

// All pages are read. The number of old uploads equals the number of aborted ones. An upload that has
// disappeared meanwhile does not count.
func TestUnfinishedUploads(t *testing.T) {
	t.Run("as of S3", func(t *testing.T) { unfinishedUploads(t, &openUploads{gone: "k 4"}, "k 0") })
	t.Run("as of radosgw", func(t *testing.T) { unfinishedUploads(t, &openUploads{gone: "k 4", mute: true}, "k%200") })
}

func unfinishedUploads(t *testing.T, server *openUploads, wantFirst string) {
	t.Helper()
	for i := range 7 {
		server.keys = append(server.keys, fmt.Sprintf("k %d", i))
	}
	h := httptest.NewServer(server)
	defer h.Close()
	client, err := s3store.NewClient(aws.Config{BaseEndpoint: &h.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	if err != nil {
		t.Fatal(err)
	}
	store, err := s3store.New(client, "bucket", "root", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	uploader := objectstore.UploaderOf(objectstore.Counting(store))
	before := uploadsBegun.Add(time.Minute)
	if count, first, err := uploader.Unfinished(t.Context(), before); count != 4 || first != wantFirst || err != nil {
		t.Errorf("got %d, the first of them %q, %v; want 4, %s", count, first, err, wantFirst)
	}
	if aborted, err := uploader.AbortUnfinished(t.Context(), before); aborted != 3 || err != nil {
		t.Errorf("%d are aborted, %v; want 3", aborted, err)
	}
	if want := []string{"", "k 1", "", "k 3", "", "k 5", ""}; !slices.Equal(server.keys, want) {
		t.Errorf("got %q, want %q", server.keys, want)
	}
	if count, _, err := uploader.Unfinished(t.Context(), before); count != 0 || err != nil {
		t.Errorf("got %d after that, %v", count, err)
	}
}

// The stand-in lists and aborts uploads like S3, and the store ignores uploads below other prefixes.
func TestUnfinishedUploadsOnStandIn(t *testing.T) {
	client, bucket := standIn(t)
	store, err := s3store.New(client, bucket, "here", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"here/a b/c", "there/d"} {
		if _, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		before time.Time
		want   int
	}{{time.Now().Add(-time.Hour), 0}, {time.Now().Add(time.Hour), 1}} {
		count, _, err := store.Unfinished(t.Context(), c.before)
		if err != nil || count != c.want {
			t.Errorf("got %d, %v; want %d", count, err, c.want)
		}
		if aborted, err := store.AbortUnfinished(t.Context(), c.before); err != nil || aborted != c.want {
			t.Errorf("%d are aborted, %v; want %d", aborted, err, c.want)
		}
	}
	left, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil || len(left.Uploads) != 1 || aws.ToString(left.Uploads[0].Key) != "there/d" {
		t.Errorf("got %v, %v; want the upload to there/d", left, err)
	}
}
