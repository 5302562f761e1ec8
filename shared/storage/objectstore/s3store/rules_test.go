package s3store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"tiltyard/shared/storage/objectstore"
)

// The limits of S3, and the errors of requests that break its rules, as its API reference documents them.
const (
	minPart         = 5 << 20        // of all parts of an upload but the last
	maxParts        = 10_000         // of an upload
	maxBody         = int64(5) << 30 // of one PUT or part, and of the source of one CopyObject
	maxListed       = 1000
	maxKeyBytesOfS3 = 1024
)

// A refusal is the answer to a request that breaks a rule; nil when it breaks none.
type refusal struct {
	status int
	code   string
}

func badRequest(code string) *refusal { return &refusal{http.StatusBadRequest, code} }

// broken returns the rule that a request breaks whatever the server holds. body is as it was sent.
func broken(r *http.Request, key string, body []byte) *refusal {
	q := r.URL.Query()
	bucket, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket != "bucket":
		return &refusal{http.StatusNotFound, "NoSuchBucket"}
	case len("root/"+key) > maxKeyBytesOfS3:
		return badRequest("KeyTooLongError")
	case r.Method == http.MethodPut && r.Header.Get("x-amz-copy-source") == "" && r.ContentLength < 0:
		return &refusal{http.StatusLengthRequired, "MissingContentLength"}
	case r.ContentLength > maxBody:
		return badRequest("EntityTooLarge")
	}
	for _, rule := range []*refusal{brokenHash(r, q.Has("X-Amz-Signature"), body), brokenSum(r, body), brokenCondition(r), brokenList(r)} {
		if rule != nil {
			return rule
		}
	}
	if q.Has("partNumber") {
		if n, err := strconv.Atoi(q.Get("partNumber")); err != nil || n < 1 || n > maxParts {
			return badRequest("InvalidArgument")
		}
	}
	return nil
}

// brokenHash checks the header that is part of the signature.
func brokenHash(r *http.Request, presigned bool, body []byte) *refusal {
	hash := sha256.Sum256(body)
	switch given := r.Header.Get("x-amz-content-sha256"); {
	case presigned, given == "UNSIGNED-PAYLOAD", given == "STREAMING-UNSIGNED-PAYLOAD-TRAILER" && r.Header.Get("x-amz-trailer") != "":
		return nil
	case given == "" || len(given) != 2*len(hash):
		return badRequest("InvalidRequest")
	case given != hex.EncodeToString(hash[:]):
		return badRequest("XAmzContentSHA256Mismatch")
	}
	return nil
}

// brokenSum checks the checksum of the body. One in a trailer has become a header.
func brokenSum(r *http.Request, body []byte) *refusal {
	sum := r.Header.Get(sumHeader)
	switch algorithm := r.Header.Get("x-amz-sdk-checksum-algorithm"); {
	case sum != "" && sum != sumOf(string(body)):
		return badRequest("BadDigest")
	case algorithm == "CRC32" && sum == "":
		return badRequest("InvalidRequest")
	}
	switch r.Header.Get("x-amz-checksum-algorithm") {
	case "", "CRC32", "CRC32C", "SHA1", "SHA256", "CRC64NVME":
		return nil
	}
	return badRequest("InvalidRequest")
}

// brokenCondition checks the headers of conditional requests: puts, copies and completed uploads take If-Match and
// If-None-Match: *, deletes take If-Match, reads take both with ETags.
func brokenCondition(r *http.Request) *refusal {
	none := r.Header.Get("If-None-Match")
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
	case none != "" && (none != "*" || r.Method == http.MethodDelete || r.Header.Get("If-Match") != ""),
		(none != "" || r.Header.Get("If-Match") != "") && r.URL.Query().Has("partNumber"):
		return &refusal{http.StatusNotImplemented, "NotImplemented"}
	}
	return nil
}

// brokenList checks the parameters of listings.
func brokenList(r *http.Request) *refusal {
	q := r.URL.Query()
	if !q.Has("list-type") {
		return nil
	}
	n, err := strconv.Atoi(q.Get("max-keys"))
	switch {
	case q.Get("list-type") != "2", q.Has("encoding-type") && q.Get("encoding-type") != "url", q.Has("max-keys") && (err != nil || n < 0):
		return badRequest("InvalidArgument")
	case q.Has("continuation-token") && !strings.HasPrefix(q.Get("continuation-token"), tokenPrefix):
		return badRequest("InvalidArgument")
	}
	return nil
}

// tokenPrefix begins the continuation tokens of the server.
const tokenPrefix = "after:"

// unchunked decodes a body with checksums at its end, which the SDK sends over TLS. The trailer becomes a header.
func unchunked(r *http.Request, body []byte) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "aws-chunked" {
		return body, nil
	}
	in := bufio.NewReader(bytes.NewReader(body))
	var out bytes.Buffer
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if _, err := io.CopyN(&out, in, n); err != nil {
			return nil, err
		}
		if _, err := in.Discard(len("\r\n")); err != nil {
			return nil, err
		}
	}
	trailer, err := in.ReadString('\n')
	name, value, ok := strings.Cut(strings.TrimSpace(trailer), ":")
	if err != nil || !ok || name != r.Header.Get("x-amz-trailer") || strconv.Itoa(out.Len()) != r.Header.Get("x-amz-decoded-content-length") {
		return nil, errors.New("malformed trailer")
	}
	r.Header.Set(name, value)
	return out.Bytes(), nil
}

// brokenPart returns the rule that a part breaks.
func (u *fakeUpload) brokenPart(key, sum string) *refusal {
	switch {
	case u == nil || u.key != key:
		return &refusal{http.StatusNotFound, "NoSuchUpload"}
	case u.sums != "" && sum == "":
		return badRequest("InvalidRequest") // the type of checksum does not match
	}
	return nil
}

// A namedPart is a part in the completion request of an upload.
type namedPart struct {
	PartNumber          int
	ETag, ChecksumCRC32 string
}

// brokenParts returns the rule that the end of an upload breaks.
func (u *fakeUpload) brokenParts(named []namedPart) *refusal {
	if len(named) == 0 || len(named) > maxParts {
		return badRequest("MalformedXML")
	}
	for i, part := range named {
		there, exists := u.parts[part.PartNumber]
		switch {
		case i > 0 && part.PartNumber <= named[i-1].PartNumber:
			return badRequest("InvalidPartOrder")
		case !exists, part.ETag != there.etag():
			return badRequest("InvalidPart")
		case u.sums != "" && part.ChecksumCRC32 == "":
			return badRequest("InvalidRequest") // each part of such an upload must name its checksum
		case part.ChecksumCRC32 != "" && (u.sums == "" || part.ChecksumCRC32 != there.sum()):
			return badRequest("InvalidPart")
		}
	}
	for _, part := range named[:len(named)-1] {
		if u.parts[part.PartNumber].size < minPart {
			return badRequest("EntityTooSmall")
		}
	}
	return nil
}

// brokenCopy returns the rule that the copy of an object of a size breaks, or of the range from begin to last of it.
func brokenCopy(size int64, isPart bool, ranged string, begin, last int64) *refusal {
	switch {
	case !isPart && size > maxBody, isPart && ranged == "" && size > maxBody:
		return badRequest("InvalidRequest") // the source is larger than one request copies
	case !isPart && ranged != "":
		return badRequest("InvalidArgument")
	case ranged == "":
		return nil
	case size <= minPart:
		return badRequest("InvalidRequest") // no ranges of small sources are copied
	case begin < 0 || begin > last || last >= size, last-begin+1 > maxBody:
		return badRequest("InvalidArgument")
	}
	return nil
}

// The fake server refuses the same requests as S3, so that tests fail for a client whose requests S3 would
// refuse.
func TestServerRefusesWhatS3Refuses(t *testing.T) {
	server, store, _ := newServer(t)
	url := *store.client.Options().BaseEndpoint
	large := strings.Repeat("x", minPart)
	server.objects["small"], server.objects["large"], server.objects["empty"] = "abc", large+"y", ""
	server.sizes["huge"] = maxBody + 1
	server.uploads["plain"] = &fakeUpload{key: "k", parts: map[int]part{1: partOf("a"), 2: partOf("b"), 3: partOf(large)}}
	server.uploads["summed"] = &fakeUpload{key: "k", sums: "CRC32", parts: map[int]part{1: partOf("a")}}
	named := func(n int, data, sum string) string {
		return fmt.Sprintf("<Part><PartNumber>%d</PartNumber><ETag>%s</ETag><ChecksumCRC32>%s</ChecksumCRC32></Part>", n, etagOf(data), sum)
	}
	complete := func(parts ...string) string {
		return "<CompleteMultipartUpload>" + strings.Join(parts, "") + "</CompleteMultipartUpload>"
	}
	copies := func(from string, more ...string) []string {
		return append([]string{"x-amz-copy-source: bucket/root/" + from}, more...)
	}
	for _, c := range []struct {
		name, method, path string
		header             []string
		body               string
		status             int
		code               string
	}{
		{"no bucket", "GET", "/other/root/small", nil, "", 404, "NoSuchBucket"},
		{"long key", "PUT", "/bucket/root/" + strings.Repeat("k", 1020), nil, "", 400, "KeyTooLongError"},
		{"longest key", "PUT", "/bucket/root/" + strings.Repeat("k", 1019), nil, "", 200, ""},
		{"no length", "PUT", "/bucket/root/k", []string{"Transfer-Encoding: chunked"}, "abc", 411, "MissingContentLength"},
		{"no hash", "PUT", "/bucket/root/k", []string{"x-amz-content-sha256: "}, "", 400, "InvalidRequest"},
		{"wrong hash", "PUT", "/bucket/root/k", []string{"x-amz-content-sha256: " + strings.Repeat("0", 64)}, "", 400, "XAmzContentSHA256Mismatch"},
		{"wrong checksum", "PUT", "/bucket/root/k", []string{sumHeader + ": AAAAAA=="}, "abc", 400, "BadDigest"},
		{"missing checksum", "PUT", "/bucket/root/k", []string{"x-amz-sdk-checksum-algorithm: CRC32"}, "abc", 400, "InvalidRequest"},
		{"right checksum", "PUT", "/bucket/root/k", []string{sumHeader + ": " + sumOf("abc")}, "abc", 200, ""},

		{"put, if none matches an ETag", "PUT", "/bucket/root/k", []string{`If-None-Match: "e"`}, "", 501, "NotImplemented"},
		{"put, if none matches, exists", "PUT", "/bucket/root/small", []string{"If-None-Match: *"}, "", 412, "PreconditionFailed"},
		{"put, if matches, missing", "PUT", "/bucket/root/missing", []string{`If-Match: "e"`}, "", 404, "NoSuchKey"},
		{"put, if matches, is another", "PUT", "/bucket/root/small", []string{`If-Match: "e"`}, "", 412, "PreconditionFailed"},
		{"delete, if none matches", "DELETE", "/bucket/root/small", []string{"If-None-Match: *"}, "", 501, "NotImplemented"},
		{"delete, if matches, missing", "DELETE", "/bucket/root/missing", []string{`If-Match: "e"`}, "", 404, "NoSuchKey"},
		{"delete, if matches, is another", "DELETE", "/bucket/root/small", []string{`If-Match: "e"`}, "", 412, "PreconditionFailed"},
		{"delete, missing", "DELETE", "/bucket/root/missing", nil, "", 204, ""},

		{"get, missing", "GET", "/bucket/root/missing", nil, "", 404, "NoSuchKey"},
		{"range after the end", "GET", "/bucket/root/small", []string{"Range: bytes=3-5"}, "", 416, "InvalidRange"},
		{"range over the end", "GET", "/bucket/root/small", []string{"Range: bytes=2-5"}, "", 206, ""},
		{"range of nothing", "GET", "/bucket/root/empty", []string{"Range: bytes=-5"}, "", 416, "InvalidRange"},

		{"copy, missing", "PUT", "/bucket/root/k", copies("missing"), "", 404, "NoSuchKey"},
		{"copy, is another", "PUT", "/bucket/root/k", copies("small", `x-amz-copy-source-if-match: "e"`), "", 412, "PreconditionFailed"},
		{"copy, too large", "PUT", "/bucket/root/k", copies("huge"), "", 400, "InvalidRequest"},
		{"copy part, too large", "PUT", "/bucket/root/k?uploadId=plain&partNumber=1", copies("huge"), "", 400, "InvalidRequest"},
		{"copy part, range too large", "PUT", "/bucket/root/k?uploadId=plain&partNumber=9", copies("huge", "x-amz-copy-source-range: bytes=0-5368709120"), "", 400, "InvalidArgument"},
		{"copy part, range of a small source", "PUT", "/bucket/root/k?uploadId=plain&partNumber=9", copies("small", "x-amz-copy-source-range: bytes=0-1"), "", 400, "InvalidRequest"},
		{"copy part, range over the end", "PUT", "/bucket/root/k?uploadId=plain&partNumber=9", copies("large", "x-amz-copy-source-range: bytes=1-5242881"), "", 400, "InvalidArgument"},
		{"copy part, no such upload", "PUT", "/bucket/root/k?uploadId=none&partNumber=9", copies("large", "x-amz-copy-source-range: bytes=1-5"), "", 404, "NoSuchUpload"},

		{"upload, other algorithm", "POST", "/bucket/root/k?uploads", []string{"x-amz-checksum-algorithm: CRC16"}, "", 400, "InvalidRequest"},
		{"part 0", "PUT", "/bucket/root/k?uploadId=plain&partNumber=0", nil, "a", 400, "InvalidArgument"},
		{"part 10,001", "PUT", "/bucket/root/k?uploadId=plain&partNumber=10001", nil, "a", 400, "InvalidArgument"},
		{"part of no upload", "PUT", "/bucket/root/k?uploadId=none&partNumber=1", nil, "a", 404, "NoSuchUpload"},
		{"part of another key", "PUT", "/bucket/root/other?uploadId=plain&partNumber=1", nil, "a", 404, "NoSuchUpload"},
		{"part without its checksum", "PUT", "/bucket/root/k?uploadId=summed&partNumber=1", nil, "a", 400, "InvalidRequest"},
		{"part under a condition", "PUT", "/bucket/root/k?uploadId=plain&partNumber=1", []string{"If-None-Match: *"}, "a", 501, "NotImplemented"},
		{"no parts", "POST", "/bucket/root/k?uploadId=plain", nil, complete(), 400, "MalformedXML"},
		{"parts out of order", "POST", "/bucket/root/k?uploadId=plain", nil, complete(named(3, large, ""), named(2, "b", "")), 400, "InvalidPartOrder"},
		{"a missing part", "POST", "/bucket/root/k?uploadId=plain", nil, complete(named(7, "a", "")), 400, "InvalidPart"},
		{"a part of another ETag", "POST", "/bucket/root/k?uploadId=plain", nil, complete(named(1, "b", "")), 400, "InvalidPart"},
		{"a small part", "POST", "/bucket/root/k?uploadId=plain", nil, complete(named(1, "a", ""), named(2, "b", "")), 400, "EntityTooSmall"},
		{"a checksum of an upload without", "POST", "/bucket/root/k?uploadId=plain", nil, complete(named(1, "a", sumOf("a"))), 400, "InvalidPart"},
		{"no checksum of an upload with", "POST", "/bucket/root/k?uploadId=summed", nil, complete(named(1, "a", "")), 400, "InvalidRequest"},
		{"another checksum", "POST", "/bucket/root/k?uploadId=summed", nil, complete(named(1, "a", sumOf("b"))), 400, "InvalidPart"},
		{"complete, exists", "POST", "/bucket/root/small?uploadId=plain", []string{"If-None-Match: *"}, complete(named(1, "a", "")), 404, "NoSuchUpload"},
		{"abort of no upload", "DELETE", "/bucket/root/k?uploadId=none", nil, "", 404, "NoSuchUpload"},

		{"list, other encoding", "GET", "/bucket?list-type=2&encoding-type=xml", nil, "", 400, "InvalidArgument"},
		{"list, negative", "GET", "/bucket?list-type=2&max-keys=-1", nil, "", 400, "InvalidArgument"},
		{"list, made-up token", "GET", "/bucket?list-type=2&continuation-token=x", nil, "", 400, "InvalidArgument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
			for _, line := range c.header {
				name, value, _ := strings.Cut(line, ": ")
				request.Header.Set(name, value)
			}
			if request.Header.Get("Transfer-Encoding") != "" {
				request.ContentLength, request.Body = -1, io.NopCloser(strings.NewReader(c.body))
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != c.status || c.code != "" && !strings.Contains(string(text), "<Code>"+c.code+"</Code>") {
				t.Errorf("got %d %.200s, %v, want %d %s", answer.StatusCode, text, err, c.status, c.code)
			}
		})
	}
	if one := broken(&http.Request{Method: "PUT", URL: httptest.NewRequest("PUT", "/bucket/root/k", nil).URL, ContentLength: maxBody + 1}, "k", nil); one == nil || one.code != "EntityTooLarge" {
		t.Errorf("a body that is too large: got %+v", one)
	}
}

// Objects that one request may not copy are copied in parts that S3 takes.
func TestCopiesOfHugeObjects(t *testing.T) {
	server, store, _ := newServer(t)
	const size = 20<<30 + 1
	server.sizes["a"] = size
	was := objectstore.Info{Key: "a", Size: size, ETag: etagOf("huge a")}
	if err := store.CopyFrom(t.Context(), store, was, "k"); err != nil {
		t.Fatal(err)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.sizes["k"] != size {
		t.Errorf("the copy has %d bytes, want %d", server.sizes["k"], int64(size))
	}
}

// The largest object of S3, 5 TiB, fits into 10,000 parts of at most the size that S3 allows.
func TestPartsSufficeForTheLargestObject(t *testing.T) {
	w, total := writer{upload: new(upload)}, int64(0)
	for range maxParts {
		size := int64(w.partSize())
		if size < minPart || size > maxBody {
			t.Fatalf("part %d has %d bytes", len(w.upload.parts)+1, size)
		}
		total += size
		w.upload.next()
	}
	if total < 5<<40 {
		t.Errorf("%d parts have %d bytes", maxParts, total)
	}
	if usualCopy.part*maxParts < 5<<40 || usualCopy.part > maxBody || usualCopy.whole > maxBody {
		t.Errorf("got %+v for copies", usualCopy)
	}
}

// Over TLS, checksums follow the bodies.
func TestUploadsOverTLS(t *testing.T) {
	server := newFake(t)
	h := httptest.NewTLSServer(server)
	t.Cleanup(h.Close)
	cfg := configOf(h.URL)
	roots := x509.NewCertPool()
	roots.AddCert(h.Certificate())
	cfg.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12} })
	store := openStore(t, cfg, io.Discard)
	for _, size := range []int{0, 100, firstPart + 1} {
		data := content(size)
		if err := stream(t.Context(), store, data); err != nil {
			t.Fatal(err)
		}
		if got, _, err := store.Get(t.Context(), "k"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	if server.trailers == 0 {
		t.Error("no checksum came at the end of a body")
	}
}

// Listings of many pages, which the server ends after 1,000 entries, are whole.
func TestListingsInPages(t *testing.T) {
	server, store, _ := newServer(t)
	var want []string
	for i := range 2100 {
		want = append(want, fmt.Sprintf("%04d+ %%", i))
		server.objects[want[i]] = ""
	}
	page, err := store.List(t.Context(), objectstore.ListOptions{StartAfter: want[99]})
	var got []string
	for _, o := range page.Objects {
		got = append(got, o.Key)
	}
	if requests, _, _, _ := server.state(); err != nil || !slices.Equal(got, want[100:]) || len(requests) != 2 {
		t.Errorf("got %d objects in %d requests, %v; want those after the 100th, in 2", len(got), len(requests), err)
	}
}
