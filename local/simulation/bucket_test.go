package simulation_test

import (
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A bucket is the part of S3 that the store uses: objects with conditional writes, ranges
// and listings. Everything is carried out by the scheduler, so it has no lock.
type bucket struct {
	objects map[string]stored
	keys    []string // of objects, ascending
}

type stored struct {
	data     []byte
	modified time.Time
}

func newBucket() *bucket { return &bucket{objects: map[string]stored{}} }

// etagOf is the ETag of an object: that of its bytes, as with S3, so that an object which
// is put again as it was before has the same.
func etagOf(data []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(data)) }

// An answer is what a server sends back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func answered(status int, body string) answer {
	return answer{status: status, header: http.Header{}, body: []byte(body)}
}

// refusal is an error as S3 words it.
func refusal(status int, code string) answer {
	return answered(status, "<Error><Code>"+code+"</Code><Message>simulated</Message></Error>")
}

// serve carries out one request to the bucket.
func (b *bucket) serve(r *sent, now time.Time) answer {
	key, query := strings.TrimPrefix(r.url.Path, "/bucket/"), r.url.Query()
	var a answer
	switch {
	case query.Has("list-type"):
		a = b.list(query)
	case r.method == http.MethodPut:
		if a = b.holds(r.header, key); a.status == http.StatusOK {
			b.put(key, r.body, now)
			a.header.Set("ETag", etagOf(r.body))
		}
	case r.method == http.MethodDelete:
		if a = b.holds(r.header, key); a.status == http.StatusOK {
			b.remove(key)
			a.status = http.StatusNoContent
		}
	default:
		a = b.get(r, key)
	}
	a.header.Set("Date", now.UTC().Format(http.TimeFormat))
	return a
}

func (b *bucket) put(key string, data []byte, now time.Time) {
	if _, exists := b.objects[key]; !exists {
		i, _ := slices.BinarySearch(b.keys, key)
		b.keys = slices.Insert(b.keys, i, key)
	}
	b.objects[key] = stored{data, now}
}

func (b *bucket) remove(key string) {
	if i, exists := slices.BinarySearch(b.keys, key); exists {
		b.keys = slices.Delete(b.keys, i, i+1)
		delete(b.objects, key)
	}
}

// holds judges the conditions of a write.
func (b *bucket) holds(header http.Header, key string) answer {
	there, exists := b.objects[key]
	match := header.Get("If-Match")
	switch {
	case match != "" && !exists:
		return refusal(http.StatusNotFound, "NoSuchKey")
	case match != "" && match != etagOf(there.data), header.Get("If-None-Match") == "*" && exists:
		return refusal(http.StatusPreconditionFailed, "PreconditionFailed")
	}
	return answered(http.StatusOK, "")
}

func (b *bucket) get(r *sent, key string) answer {
	there, exists := b.objects[key]
	if !exists {
		return refusal(http.StatusNotFound, "NoSuchKey")
	}
	if match := r.header.Get("If-Match"); match != "" && match != etagOf(there.data) {
		return refusal(http.StatusPreconditionFailed, "PreconditionFailed")
	}
	a := answered(http.StatusOK, "")
	a.body = there.data
	if asked := r.header.Get("Range"); asked != "" {
		first, last, ok := rangeOf(asked, int64(len(there.data)))
		if !ok {
			return refusal(http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		}
		a.status, a.body = http.StatusPartialContent, there.data[first:last+1]
		a.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(there.data)))
	}
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	a.header.Set("ETag", etagOf(there.data))
	a.header.Set("Last-Modified", there.modified.UTC().Format(http.TimeFormat))
	if r.method == http.MethodHead {
		a.body = nil
	}
	return a
}

// rangeOf reads a header like "bytes=5-9" or "bytes=-64".
func rangeOf(header string, size int64) (first, last int64, ok bool) {
	from, to, _ := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	first, _ = strconv.ParseInt(from, 10, 64)
	last, err := strconv.ParseInt(to, 10, 64)
	switch {
	case from == "":
		first, last = max(0, size-last), size-1
	case err != nil:
		last = size - 1
	}
	last = min(last, size-1)
	return first, last, first <= last
}

// A listing is the body of a page of ListObjectsV2.
type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []listedObject
	CommonPrefixes        []listedPrefix
}

type listedObject struct {
	Key, ETag, LastModified string
	Size                    int
}

type listedPrefix struct{ Prefix string }

func (b *bucket) list(query url.Values) answer {
	prefix, delimiter := query.Get("prefix"), query.Get("delimiter")
	after := max(query.Get("start-after"), query.Get("continuation-token"))
	limit, err := strconv.Atoi(query.Get("max-keys"))
	if err != nil {
		limit = 1000
	}
	page := listing{EncodingType: "url"}
	i, _ := slices.BinarySearch(b.keys, max(prefix, after))
	name, rolled := "", ""
	for ; i < len(b.keys) && strings.HasPrefix(b.keys[i], prefix); i++ {
		key := b.keys[i]
		if key <= after || rolled != "" && strings.HasPrefix(key, rolled) {
			continue
		}
		if len(page.Contents)+len(page.CommonPrefixes) == limit {
			page.IsTruncated, page.NextContinuationToken = true, name
			break
		}
		end := strings.Index(key[len(prefix):], "/")
		if delimiter == "" || end < 0 {
			o := b.objects[key]
			name = key
			page.Contents = append(page.Contents, listedObject{
				url.QueryEscape(key), etagOf(o.data), o.modified.UTC().Format("2006-01-02T15:04:05.000Z"), len(o.data),
			})
			continue
		}
		rolled = key[:len(prefix)+end+1]
		name = rolled + "\xff"
		page.CommonPrefixes = append(page.CommonPrefixes, listedPrefix{url.QueryEscape(rolled)})
	}
	body, err := xml.Marshal(page)
	if err != nil {
		panic(err)
	}
	return answered(http.StatusOK, string(body))
}
