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

// A fault is what a server does with one request besides, or instead of, answering it.
type fault struct {
	before func(*fakeServer) // runs first
	status int               // is answered, with code, and nothing is carried out
	code   string
	reset  bool // the connection ends, and nothing is carried out
	after  int  // is carried out, and this status is answered
	lost   bool // is carried out, and the connection ends without an answer
	cut    bool // half of the answer's body is sent
	stall  bool // nothing is carried out, and nothing is answered
	wrong  bool // the checksum of the answer is that of other bytes
	whole  bool // the range of a get is ignored
}

// A fakeServer is the part of S3 that a store uses, in one bucket, with faults.
type fakeServer struct {
	mu       sync.Mutex
	objects  map[string]string
	uploads  map[string]*fakeUpload // missing when done or aborted
	begun    int
	sums     int     // requests that named a checksum or an algorithm
	faults   []fault // of the next requests; of none or the zero value nothing comes
	always   *fault  // when there are no more of them
	requests []string
	closing  chan struct{}
}

// A fakeUpload is an upload in parts.
type fakeUpload struct {
	sums  string         // the algorithm of its checksums: CRC32, or none
	parts map[int]string // by number
}

// newServer starts a server and opens a store on it. Retries are quick and stalls short.
func newServer(t *testing.T) (*fakeServer, *Store, *bytes.Buffer) {
	t.Helper()
	s := &fakeServer{objects: map[string]string{}, uploads: map[string]*fakeUpload{}, closing: make(chan struct{})}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	t.Cleanup(func() { close(s.closing) })
	var log bytes.Buffer
	return s, openStore(t, configOf(h.URL), &log), &log
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
	store.pace.first, store.pace.longest = time.Millisecond, 2*time.Millisecond
	return store
}

// configOf is the configuration of a server that accepts any credentials, as the AWS environment
// would give it.
func configOf(url string) aws.Config {
	return aws.Config{
		BaseEndpoint:               &url,
		Credentials:                credentials.NewStaticCredentialsProvider("test", "test", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}
}

// state returns what was asked for so far, the object k, and how many uploads are open.
func (s *fakeServer) state() (requests []string, object string, exists bool, uploads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, exists = s.objects["k"]
	return slices.Clone(s.requests), object, exists, len(s.uploads)
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		s.mu.Unlock()
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
		s.mu.Lock()
		return
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
	s.serve(answer, r, string(body))
	if f.wrong {
		answer.Header().Set(sumHeader, "AAAAAA==")
	}
	switch {
	case f.lost:
		panic(http.ErrAbortHandler)
	case f.after != 0:
		fail(w, f.after, "InternalError")
		return
	}
	send(w, answer, f.cut)
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

// serve carries a request out.
func (s *fakeServer) serve(w http.ResponseWriter, r *http.Request, body string) {
	key, q := strings.TrimPrefix(r.URL.Path, "/bucket/root/"), r.URL.Query()
	switch {
	case q.Has("list-type"):
		s.list(w, q.Get("prefix"))
	case q.Has("uploads"):
		s.begun++
		id := strconv.Itoa(s.begun)
		s.uploads[id] = &fakeUpload{sums: r.Header.Get("x-amz-checksum-algorithm"), parts: map[int]string{}}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case r.Header.Get("x-amz-copy-source") != "":
		s.copy(w, r, key)
	case q.Has("uploadId"):
		s.upload(w, r, key, body)
	case r.Method == http.MethodPut:
		if s.holds(w, r, key) {
			s.objects[key] = body
			w.Header().Set("ETag", etagOf(body))
		}
	case r.Method == http.MethodDelete:
		if s.holds(w, r, key) {
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
	case match != "" && match != etagOf(data), r.Header.Get("If-None-Match") == "*" && exists:
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
	http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader(data))
}

func (s *fakeServer) list(w io.Writer, prefix string) {
	fmt.Fprint(w, "<ListBucketResult>")
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if data := s.objects[key]; strings.HasPrefix("root/"+key, prefix) {
			fmt.Fprintf(w, "<Contents><Key>root/%s</Key><Size>%d</Size><ETag>x</ETag></Contents>", key, len(data))
		}
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

func (s *fakeServer) upload(w http.ResponseWriter, r *http.Request, key, body string) {
	id := r.URL.Query().Get("uploadId")
	u, exists := s.uploads[id]
	switch {
	case !exists:
		fail(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut:
		n, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if sum := r.Header.Get(sumHeader); sum != "" {
			if sum != sumOf(body) {
				fail(w, http.StatusBadRequest, "BadDigest")
				return
			}
			w.Header().Set(sumHeader, sum)
		}
		u.parts[n] = body
		w.Header().Set("ETag", etagOf(body))
	case r.Method == http.MethodDelete:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	default:
		if data, ok := u.complete(w, body); ok {
			delete(s.uploads, id)
			s.objects[key] = data
		}
	}
}

// copy carries out the copy of an object, or of a range of it as a part.
func (s *fakeServer) copy(w http.ResponseWriter, r *http.Request, key string) {
	from, err := url.PathUnescape(r.Header.Get("x-amz-copy-source"))
	if err != nil {
		panic(err)
	}
	data, exists := s.objects[strings.TrimPrefix(from, "bucket/root/")]
	switch match := r.Header.Get("x-amz-copy-source-if-match"); {
	case !exists:
		fail(w, http.StatusNotFound, "NoSuchKey")
		return
	case match != etagOf(data):
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	q := r.URL.Query()
	if !q.Has("uploadId") {
		s.objects[key] = data
		fmt.Fprintf(w, "<CopyObjectResult><ETag>%s</ETag></CopyObjectResult>", etagOf(data))
		return
	}
	var begin, last int
	if _, err := fmt.Sscanf(r.Header.Get("x-amz-copy-source-range"), "bytes=%d-%d", &begin, &last); err != nil {
		panic(err)
	}
	n, _ := strconv.Atoi(q.Get("partNumber"))
	u, part := s.uploads[q.Get("uploadId")], data[begin:last+1]
	u.parts[n] = part
	sum := ""
	if u.sums != "" {
		sum = "<ChecksumCRC32>" + sumOf(part) + "</ChecksumCRC32>"
	}
	fmt.Fprintf(w, "<CopyPartResult><ETag>%s</ETag>%s</CopyPartResult>", etagOf(part), sum)
}

// complete returns the object that the named parts make, or answers what is wrong with them.
func (u *fakeUpload) complete(w http.ResponseWriter, body string) (data string, ok bool) {
	var named struct {
		Parts []struct {
			PartNumber          int
			ETag, ChecksumCRC32 string
		} `xml:"Part"`
	}
	if err := xml.Unmarshal([]byte(body), &named); err != nil {
		fail(w, http.StatusBadRequest, "MalformedXML")
		return "", false
	}
	var whole strings.Builder
	for _, part := range named.Parts {
		data, exists := u.parts[part.PartNumber]
		switch {
		case u.sums != "" && part.ChecksumCRC32 == "": // each part of such an upload must name its checksum
			fail(w, http.StatusBadRequest, "InvalidRequest")
			return "", false
		case !exists, part.ETag != etagOf(data), part.ChecksumCRC32 != "" && (u.sums == "" || part.ChecksumCRC32 != sumOf(data)):
			fail(w, http.StatusBadRequest, "InvalidPart")
			return "", false
		}
		whole.WriteString(data)
	}
	fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>%s</ETag></CompleteMultipartUploadResult>", etagOf(whole.String()))
	return whole.String(), true
}
