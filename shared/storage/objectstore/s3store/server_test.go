package s3store

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// A fault modifies the response of a server to one request.
type fault struct {
	before func(*fakeServer) // runs first
	status int               // is answered, with code, and nothing is carried out
	code   string
	reset  bool // the connection ends, and nothing is carried out
	after  int  // is carried out, and this status is answered
	lost   bool // is carried out, and the connection ends without an answer
	cut    bool // half of the answer's body is sent
	stall  bool // nothing is carried out, and nothing is answered
	late   bool // is carried out after the next request was answered
	held   bool // is carried out, and answered after the next request
	wrong  bool // the response has the checksum of other bytes
	whole  bool // the range of a get is ignored
}

// A fakeServer implements the part of S3 that a store uses, with one bucket and with faults. It refuses
// invalid requests like S3 (rules_test.go).
type fakeServer struct {
	mu       sync.Mutex
	objects  map[string]string
	sizes    map[string]int64       // of objects that are too large to be held
	trailers int                    // bodies with a checksum at their end
	uploads  map[string]*fakeUpload // missing when done or aborted
	begun    int
	sums     int     // requests that named a checksum or an algorithm
	faults   []fault // of the next requests; of none or the zero value nothing comes
	always   *fault  // when there are no more of them
	requests []string
	answered chan struct{} // is closed, and made anew, when a request was answered
	closing  chan struct{}
	modified time.Time // of all objects

	// looks makes conditional deletes as some servers do: an object is compared, then other
	// requests are carried out, then whatever is there is deleted. Nothing there is a success.
	looks func()
	name  string // of the header Server
	lacks bool   // conditional deletes are not implemented
	bare  bool   // ETags have no quotes in If-Match of puts and of completed uploads; copies have no conditions, and ETags of their own
}

// A fakeUpload is an upload in parts.
type fakeUpload struct {
	key   string
	sums  string // the algorithm of its checksums: CRC32, or none
	parts map[int]part
}

// A part of an upload. Very large parts have a size, but no bytes.
type part struct {
	data string
	size int64
}

func partOf(data string) part { return part{data, int64(len(data))} }

func (p part) text() string {
	if p.size != int64(len(p.data)) {
		return fmt.Sprint("huge ", p.size)
	}
	return p.data
}

func (p part) etag() string { return etagOf(p.text()) }
func (p part) sum() string  { return sumOf(p.text()) }

// newServer starts a server and opens a store on it. Retries are quick and stalls short.
func newServer(t *testing.T) (*fakeServer, *Store, *bytes.Buffer) {
	t.Helper()
	s := newFake(t)
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	var log bytes.Buffer
	return s, openStore(t, configOf(h.URL), &log), &log
}

func newFake(t *testing.T) *fakeServer {
	s := &fakeServer{objects: map[string]string{}, sizes: map[string]int64{}, uploads: map[string]*fakeUpload{}, answered: make(chan struct{}), closing: make(chan struct{}), modified: time.Unix(1e9, 0)}
	t.Cleanup(func() { close(s.closing) })
	return s
}

func openStore(t *testing.T, cfg aws.Config, log io.Writer) *Store {
	t.Helper()
	client, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	store, err := New(client, "bucket", "root", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	store.server.isS3 = true // as for S3
	store.pace.attempts, store.pace.first, store.pace.longest = 5, time.Millisecond, 2*time.Millisecond
	return store
}

// configOf returns the configuration for a server that accepts any credentials, as from the AWS
// environment.
func configOf(url string) aws.Config {
	return aws.Config{
		BaseEndpoint:               &url,
		Credentials:                credentials.NewStaticCredentialsProvider("test", "test", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}
}

// state returns the requests so far, the object k, and the number of open uploads.
func (s *fakeServer) state() (requests []string, object string, exists bool, uploads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, exists = s.objects["k"]
	return slices.Clone(s.requests), object, exists, len(s.uploads)
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", s.name)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has given up
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.next(r)
	if f.before != nil {
		f.before(s)
	}
	switch {
	case f.stall:
		s.wait(r, nil)
		return
	case f.late:
		s.wait(r, s.answered)
	case f.reset:
		panic(http.ErrAbortHandler)
	case f.status != 0 && f.cut:
		w.Header().Set("Content-Length", "200")
		fail(w, f.status, f.code)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case f.status != 0:
		fail(w, f.status, f.code)
		return
	}
	answer := httptest.NewRecorder()
	if f.whole {
		r.Header.Del("Range")
	}
	s.serve(answer, r, body)
	if f.wrong {
		answer.Header().Set(sumHeader, "AAAAAA==")
	}
	switch {
	case f.held:
		s.wait(r, s.answered)
	case f.lost:
		panic(http.ErrAbortHandler)
	case f.after != 0:
		fail(w, f.after, "InternalError")
		return
	}
	send(w, answer, f.cut)
	close(s.answered)
	s.answered = make(chan struct{})
}

// wait lets others use the server until something has happened, or the client has given up.
func (s *fakeServer) wait(r *http.Request, until <-chan struct{}) {
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-until:
	case <-r.Context().Done():
	case <-s.closing:
	}
}

// next records the request and returns its fault.
func (s *fakeServer) next(r *http.Request) fault {
	text := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/bucket/root/")
	for _, name := range []string{"partNumber", "uploads", "uploadId"} {
		if r.URL.Query().Has(name) {
			text += " " + name
			break
		}
	}
	s.requests = append(s.requests, text)
	if r.Header.Get(sumHeader) != "" || r.Header.Get("x-amz-checksum-algorithm") != "" {
		s.sums++
	}
	switch {
	case len(s.faults) > 0:
		f := s.faults[0]
		s.faults = s.faults[1:]
		return f
	case s.always != nil:
		return *s.always
	}
	return fault{}
}

func send(w http.ResponseWriter, answer *httptest.ResponseRecorder, cut bool) {
	maps.Copy(w.Header(), answer.Header())
	body := answer.Body.Bytes()
	if w.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(answer.Code)
	if cut {
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

func fail(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

const sumHeader = "x-amz-checksum-crc32"

func sumOf(data string) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(data))))
}

func etagOf(data string) string { return fmt.Sprintf(`"%x"`, md5.Sum([]byte(data))) }

// etag is the ETag of an object where the server may leave out quotes.
func (s *fakeServer) etag(data string) string {
	if s.bare {
		return strings.Trim(etagOf(data), `"`)
	}
	return etagOf(data)
}

// serve carries a request out.
func (s *fakeServer) serve(w http.ResponseWriter, r *http.Request, sent []byte) {
	body, err := unchunked(r, sent)
	if err != nil {
		fail(w, http.StatusBadRequest, "MalformedTrailerError")
		return
	}
	if r.Header.Get("x-amz-trailer") != "" {
		s.trailers++
	}
	key, q := strings.TrimPrefix(r.URL.Path, "/bucket/root/"), r.URL.Query()
	if rule := broken(r, key, body); rule != nil {
		fail(w, rule.status, rule.code)
		return
	}
	switch {
	case q.Has("list-type"):
		s.list(w, r)
	case q.Has("uploads"):
		s.begun++
		id := strconv.Itoa(s.begun)
		s.uploads[id] = &fakeUpload{key: key, sums: r.Header.Get("x-amz-checksum-algorithm"), parts: map[int]part{}}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case r.Header.Get("x-amz-copy-source") != "":
		s.copy(w, r, key)
	case q.Has("uploadId"):
		s.upload(w, r, key, string(body))
	case r.Method == http.MethodPut:
		if s.holds(w, r, key) {
			s.objects[key] = string(body)
			w.Header().Set("ETag", etagOf(string(body)))
		}
	case r.Method == http.MethodDelete && s.lacks && r.Header.Get("If-Match") != "":
		fail(w, http.StatusNotImplemented, "NotImplemented")
	case r.Method == http.MethodDelete:
		if _, exists := s.objects[key]; s.looks != nil && !exists || s.holds(w, r, key) {
			if s.looks != nil {
				s.looks()
			}
			delete(s.objects, key)
			w.WriteHeader(http.StatusNoContent)
		}
	default:
		s.get(w, r, key)
	}
}

// holds judges the conditions of a write, and answers if they fail.
func (s *fakeServer) holds(w http.ResponseWriter, r *http.Request, key string) bool {
	data, exists := s.objects[key]
	match := r.Header.Get("If-Match")
	switch {
	case match != "" && !exists:
		fail(w, http.StatusNotFound, "NoSuchKey")
	case match != "" && match != s.etag(data), r.Header.Get("If-None-Match") == "*" && exists:
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		return true
	}
	return false
}

func (s *fakeServer) get(w http.ResponseWriter, r *http.Request, key string) {
	data, exists := s.objects[key]
	if !exists {
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", etagOf(data))
	if ranged := r.Header.Get("Range"); data == "" && ranged != "" {
		fail(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		return
	}
	var begin int
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &begin); n == 1 && begin >= len(data) {
		fail(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		return
	}
	http.ServeContent(w, r, "", s.modified, strings.NewReader(data))
}

// list returns a page, with the page size limit of S3.
func (s *fakeServer) list(w io.Writer, r *http.Request) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("max-keys"))
	if err != nil || limit > maxListed {
		limit = maxListed
	}
	after, page, listed, last, more := max(q.Get("start-after"), strings.TrimPrefix(q.Get("continuation-token"), tokenPrefix)), "", 0, "", false
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		full := "root/" + key
		if !strings.HasPrefix(full, q.Get("prefix")) || full <= after {
			continue
		}
		if more = listed == limit; more {
			break
		}
		page += fmt.Sprintf("<Contents><Key>%s</Key><Size>%d</Size><ETag>x</ETag></Contents>", url.QueryEscape(full), len(s.objects[key]))
		listed, last = listed+1, full
	}
	fmt.Fprintf(w, "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated><NextContinuationToken>%s</NextContinuationToken>%s</ListBucketResult>",
		more, tokenPrefix+last, page)
}

func (s *fakeServer) upload(w http.ResponseWriter, r *http.Request, key, body string) {
	id, sum := r.URL.Query().Get("uploadId"), r.Header.Get(sumHeader)
	u := s.uploads[id]
	isPart := r.Method == http.MethodPut
	if rule := u.brokenPart(key, sum); rule != nil && (isPart || rule.status == http.StatusNotFound) {
		fail(w, rule.status, rule.code)
		return
	}
	switch {
	case isPart:
		n, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
		u.parts[n] = partOf(body)
		w.Header().Set("ETag", etagOf(body))
		if sum != "" {
			w.Header().Set(sumHeader, sum)
		}
	case r.Method == http.MethodDelete:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case s.holds(w, r, key):
		s.complete(w, id, key, body)
	}
}

// complete makes an object of the named parts.
func (s *fakeServer) complete(w http.ResponseWriter, id, key, body string) {
	var named struct {
		Parts []namedPart `xml:"Part"`
	}
	if err := xml.Unmarshal([]byte(body), &named); err != nil {
		fail(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	u := s.uploads[id]
	if rule := u.brokenParts(named.Parts); rule != nil {
		fail(w, rule.status, rule.code)
		return
	}
	var whole strings.Builder
	size := int64(0)
	for _, p := range named.Parts {
		whole.WriteString(u.parts[p.PartNumber].data)
		size += u.parts[p.PartNumber].size
	}
	delete(s.uploads, id)
	if s.objects[key] = whole.String(); size > int64(whole.Len()) {
		s.sizes[key] = size
	}
	fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>%s</ETag></CompleteMultipartUploadResult>", s.etag(whole.String()))
}

// copy carries out the copy of an object, or of a range of it as a part.
func (s *fakeServer) copy(w http.ResponseWriter, r *http.Request, key string) {
	from, err := url.PathUnescape(r.Header.Get("x-amz-copy-source"))
	if err != nil {
		fail(w, http.StatusBadRequest, "InvalidArgument")
		return
	}
	from = strings.TrimPrefix(from, "bucket/root/")
	data, exists := s.objects[from]
	size, huge := s.sizes[from]
	etag := etagOf(data)
	if huge {
		exists, etag = true, etagOf("huge "+from)
	} else {
		size = int64(len(data))
	}
	q, ranged := r.URL.Query(), r.Header.Get("x-amz-copy-source-range")
	begin, last := int64(-1), size-1
	if ranged != "" {
		_, _ = fmt.Sscanf(ranged, "bytes=%d-%d", &begin, &last) // the rules report a malformed range
	}
	rule := brokenCopy(size, q.Has("uploadId"), ranged, begin, last)
	if q.Has("uploadId") && (s.uploads[q.Get("uploadId")] == nil || s.uploads[q.Get("uploadId")].key != key) {
		rule = &refusal{http.StatusNotFound, "NoSuchUpload"}
	}
	match := r.Header.Get("x-amz-copy-source-if-match")
	switch {
	case !exists:
		fail(w, http.StatusNotFound, "NoSuchKey")
	case match != "" && match != etag && !s.bare:
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case rule != nil:
		fail(w, rule.status, rule.code)
	case !q.Has("uploadId"):
		s.objects[key] = data
		if s.bare {
			etag = "of a copy"
		}
		fmt.Fprintf(w, "<CopyObjectResult><ETag>%s</ETag></CopyObjectResult>", etag)
	default:
		u, copied := s.uploads[q.Get("uploadId")], part{size: last - max(begin, 0) + 1}
		if !huge {
			copied = partOf(data[max(begin, 0) : last+1])
		}
		n, _ := strconv.Atoi(q.Get("partNumber"))
		u.parts[n] = copied
		sum := ""
		if u.sums != "" {
			sum = "<ChecksumCRC32>" + copied.sum() + "</ChecksumCRC32>"
		}
		fmt.Fprintf(w, "<CopyPartResult><ETag>%s</ETag>%s</CopyPartResult>", copied.etag(), sum)
	}
}
