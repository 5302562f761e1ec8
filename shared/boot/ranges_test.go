package boot

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

// A second program with the same settings finds what the first one has read: in its folder, or else in the bucket.
// Roots in directories, and objects that may change, are read as before.
func TestRangesAreKeptForLaterPrograms(t *testing.T) {
	isolateAWS(t)
	t.Setenv("AWS_REGION", "eu-central-1")
	var mu sync.Mutex
	var asked []string
	stored := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		bucket, key, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
		asked = append(asked, r.Method+" "+bucket)
		data := []byte("the bytes of a file")
		if bucket == "near" {
			data = stored[key]
		}
		if r.Method == http.MethodPut {
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			stored[key] = body.Bytes()
			w.Header().Set("ETag", `"e"`)
			return
		}
		if data == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Content-Range", "bytes 0-"+strconv.Itoa(len(data)-1)+"/"+strconv.Itoa(len(data)))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(data)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	folder := filepath.Join(t.TempDir(), "ranges")
	read := func(folder, key string) (requests []string) {
		t.Helper()
		env, err := Open(Config{Root: "s3://lake/root/", Ranges: Ranges{Disk: folder, DiskBytes: leastDiskBytes, Bucket: "s3://near/ranges"}}, inEnv, &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		defer env.Ranges.Close()
		mu.Lock()
		asked = nil
		mu.Unlock()
		var usage objectstore.Usage
		store := objectstore.Counting(env.Objects.Home().Store) // as tables do
		got, info, err := store.GetRanges(objectstore.WithUsage(t.Context(), &usage), key, objectstore.Range{Offset: -100})
		if err != nil || string(got[0]) != "the bytes of a file" || info.Size != 19 {
			t.Fatalf("got %q of %d bytes, %v", got, info.Size, err)
		}
		env.Ranges.Wait()
		mu.Lock()
		defer mu.Unlock()
		reads := 0
		for _, request := range asked {
			if strings.HasPrefix(request, "GET") {
				reads++
			}
		}
		found := int64(1)
		if slices.Contains(asked, "GET lake") {
			found = 0
		}
		if usage.Requests() != int64(reads) || usage.Writes() != 0 || usage.Kept() != found {
			t.Errorf("counted %d reads, %d writes and %d found ranges for %q", usage.Requests(), usage.Writes(), usage.Kept(), asked)
		}
		return slices.Clone(asked)
	}
	const file = "t.lance/data/0b5cf2a0-1c9f-4f5d-9d4a-6f3f3b1f2a3c.lance"
	for _, c := range []struct {
		name, folder, key string
		want              []string
	}{
		{"the first time", folder, file, []string{"GET near", "GET lake", "PUT near"}},
		{"by its folder", folder, file, nil},
		{"by another folder", filepath.Join(t.TempDir(), "ranges"), file, []string{"GET near"}},
		{"a manifest", folder, "t.lance/_versions/1.manifest", []string{"GET lake"}},
	} {
		if got := read(c.folder, c.key); !slices.Equal(got, c.want) {
			t.Errorf("%s: got the requests %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCacheOfRangesIsRefused(t *testing.T) {
	isolateAWS(t)
	t.Setenv("AWS_REGION", "eu-central-1")
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil { //nolint:gosec // this is the case
		t.Fatal(err)
	}
	cases := []struct {
		name   string
		root   string
		ranges Ranges
		want   string
	}{
		{"a root that is near", t.TempDir(), Ranges{Bucket: "s3://near"}, "all roots are directories"},
		{"the bucket of the root", "s3://lake", Ranges{Bucket: "s3://lake/ranges"}, "lie within each other"},
		{"the root", "s3://lake/root/", Ranges{Bucket: "s3://lake/root"}, "lie within each other"},
		{"around the root", "s3://lake/root", Ranges{Bucket: "s3://lake"}, "lie within each other"},
		{"a folder that others can read", "s3://lake", Ranges{Disk: open, DiskBytes: leastDiskBytes}, "0700"},
		{"a folder in a folder that is missing", "s3://lake", Ranges{Disk: filepath.Join(open, "a", "b"), DiskBytes: leastDiskBytes}, "cache-disk"},
	}
	for _, c := range cases {
		if _, err := Open(Config{Root: c.root, Ranges: c.ranges}, inEnv, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	if _, err := Open(Config{Root: "s3://lake/root", Ranges: Ranges{Bucket: "s3://lake/ranges/"}}, inEnv, &bytes.Buffer{}); err != nil {
		t.Errorf("another prefix of the bucket: %v", err)
	}
}
