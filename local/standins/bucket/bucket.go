package main

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// A bucket serves a store by the part of S3's protocol that the service uses. ETags are those of the store.
type bucket struct {
	name    string
	objects objectstore.Store
	uploads uploads
}

func newBucket(name string, objects objectstore.Store) *bucket {
	return &bucket{name: name, objects: objects, uploads: uploads{parts: map[string]map[int][]byte{}}}
}

// ServeHTTP carries out one request.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	var err error
	switch {
	case name != b.name:
		err = refusal{http.StatusNotFound, "NoSuchBucket"}
	case key == "" && query.Has("list-type"):
		err = b.list(w, r)
	case key == "": // it is there, and needs no creation
	case query.Has("uploads") || query.Has("uploadId"):
		err = b.upload(w, r, key)
	case r.Header.Get("X-Amz-Copy-Source") != "":
		err = b.copy(w, r, key)
	case r.Method == http.MethodPut:
		err = b.put(w, r, key)
	case r.Method == http.MethodDelete:
		err = b.objects.Delete(r.Context(), key, conditionOf(r))
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		err = b.get(w, r, key)
	default:
		err = refusal{http.StatusMethodNotAllowed, "MethodNotAllowed"}
	}
	if err != nil {
		refuse(w, err)
	}
}

// A refusal is an answer with a status that S3 gives a code.
type refusal struct {
	status int
	code   string
}

func (r refusal) Error() string { return r.code }

// refuse answers with an error as S3 words it.
func refuse(w http.ResponseWriter, err error) {
	answer := refusal{http.StatusInternalServerError, "InternalError"}
	switch {
	case errors.As(err, &answer):
	// A directory keeps some keys for itself, which the service only asks for to learn what a bucket answers.
	case errors.Is(err, objectstore.ErrNotExist), errors.Is(err, objectstore.ErrInvalidKey):
		answer = refusal{http.StatusNotFound, "NoSuchKey"}
	case errors.Is(err, objectstore.ErrPrecondition):
		answer = refusal{http.StatusPreconditionFailed, "PreconditionFailed"}
	case errors.Is(err, objectstore.ErrInvalidRange):
		answer = refusal{http.StatusRequestedRangeNotSatisfiable, "InvalidRange"}
	}
	type body struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(answer.status)
	_ = xml.NewEncoder(w).Encode(body{Code: answer.code, Message: err.Error()}) // the client may have gone
}

func conditionOf(r *http.Request) objectstore.Condition {
	return objectstore.Condition{
		IfAbsent: r.Header.Get("If-None-Match") == "*",
		IfMatch:  strings.Trim(r.Header.Get("If-Match"), `"`),
	}
}

// body reads what a request has sent.
func body(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 || strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
		return nil, refusal{http.StatusNotImplemented, "NotImplemented"}
	}
	data := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, data)
	return data, err
}

func (b *bucket) put(w http.ResponseWriter, r *http.Request, key string) error {
	data, err := body(r)
	if err != nil {
		return err
	}
	info, err := b.objects.Put(r.Context(), key, data, conditionOf(r))
	if err != nil {
		if errors.Is(err, objectstore.ErrPrecondition) && r.Header.Get("If-Match") != "" {
			return b.missing(r, key, err)
		}
		return err
	}
	w.Header().Set("ETag", `"`+info.ETag+`"`)
	return nil
}

// copy puts the content of another object of the bucket.
func (b *bucket) copy(w http.ResponseWriter, r *http.Request, key string) error {
	source, err := url.PathUnescape(r.Header.Get("X-Amz-Copy-Source"))
	if err != nil {
		return refusal{http.StatusBadRequest, "InvalidArgument"}
	}
	name, from, _ := strings.Cut(strings.TrimPrefix(source, "/"), "/")
	if name != b.name {
		return refusal{http.StatusNotFound, "NoSuchBucket"}
	}
	data, info, err := b.objects.Get(r.Context(), from)
	if err != nil {
		return err
	}
	if match := strings.Trim(r.Header.Get("X-Amz-Copy-Source-If-Match"), `"`); match != "" && match != info.ETag {
		return objectstore.ErrPrecondition
	}
	made, err := b.objects.Put(r.Context(), key, data, conditionOf(r))
	if err != nil {
		return err
	}
	return xml.NewEncoder(w).Encode(struct {
		XMLName            xml.Name `xml:"CopyObjectResult"`
		ETag, LastModified string
	}{ETag: `"` + made.ETag + `"`, LastModified: made.Modified.UTC().Format(time.RFC3339)})
}

// missing returns the error of a write with If-Match where nothing is, as S3 has it, or the given one.
func (b *bucket) missing(r *http.Request, key string, otherwise error) error {
	if _, _, err := b.objects.GetRanges(r.Context(), key); errors.Is(err, objectstore.ErrNotExist) {
		return err
	}
	return otherwise
}

// get answers with an object or with a range of it.
func (b *bucket) get(w http.ResponseWriter, r *http.Request, key string) error {
	asked, ranged, err := rangeOf(r.Header.Get("Range"))
	if err != nil {
		return err
	}
	_, info, err := b.objects.GetRanges(r.Context(), key)
	if err != nil {
		return err
	}
	first, last := int64(0), info.Size-1
	if ranged {
		switch {
		case asked.Offset < 0:
			first = max(0, info.Size+asked.Offset)
		default:
			first, last = asked.Offset, min(last, asked.Offset+asked.Length-1)
		}
		if first > last {
			return objectstore.ErrInvalidRange
		}
		w.Header().Set("Content-Range", "bytes "+strconv.FormatInt(first, 10)+"-"+strconv.FormatInt(last, 10)+"/"+strconv.FormatInt(info.Size, 10))
	}
	if match := strings.Trim(r.Header.Get("If-Match"), `"`); match != "" && match != info.ETag {
		return objectstore.ErrPrecondition
	}
	w.Header().Set("ETag", `"`+info.ETag+`"`)
	w.Header().Set("Last-Modified", info.Modified.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.FormatInt(last+1-first, 10))
	w.Header().Set("Content-Type", "application/octet-stream")
	var data []byte
	if r.Method != http.MethodHead && last >= first {
		found, now, err := b.objects.GetRanges(r.Context(), key, objectstore.Range{Offset: first, Length: last + 1 - first})
		if err != nil {
			return err
		}
		if now.ETag != info.ETag { // replaced in between: the client asks again
			return refusal{http.StatusConflict, "ConditionalRequestConflict"}
		}
		data = found[0]
	}
	if ranged {
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(data) // the client may have gone
	return nil
}

// rangeOf reads a header like "bytes=5-9", "bytes=5-" or "bytes=-64".
func rangeOf(header string) (r objectstore.Range, given bool, err error) {
	if header == "" {
		return r, false, nil
	}
	from, to, _ := strings.Cut(strings.TrimPrefix(header, "bytes="), "-")
	first, noFirst := strconv.ParseInt(from, 10, 64)
	last, noLast := strconv.ParseInt(to, 10, 64)
	switch {
	case from == "" && noLast == nil:
		return objectstore.Range{Offset: -last}, true, nil
	case noFirst == nil && to == "":
		return objectstore.Range{Offset: first, Length: 1 << 60}, true, nil
	case noFirst != nil || noLast != nil || last < first:
		return r, false, refusal{http.StatusBadRequest, "InvalidArgument"}
	}
	return objectstore.Range{Offset: first, Length: last + 1 - first}, true, nil
}

type listed struct {
	Key, ETag, LastModified string
	Size                    int64
}

type rolledUp struct{ Prefix string }

// list answers with a page of keys.
func (b *bucket) list(w http.ResponseWriter, r *http.Request) error {
	const mostKeys = 1000
	query := r.URL.Query()
	limit, err := strconv.Atoi(query.Get("max-keys"))
	if err != nil || limit > mostKeys {
		limit = mostKeys
	}
	page, err := b.objects.List(r.Context(), objectstore.ListOptions{
		Prefix: query.Get("prefix"), Delimiter: query.Get("delimiter"), Limit: limit,
		StartAfter: max(query.Get("start-after"), query.Get("continuation-token")),
	})
	if err != nil {
		return err
	}
	answer := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		EncodingType          string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []listed
		CommonPrefixes        []rolledUp
	}{EncodingType: "url", IsTruncated: page.More}
	if page.More {
		answer.NextContinuationToken = page.Last()
	}
	for _, o := range page.Objects {
		answer.Contents = append(answer.Contents, listed{url.QueryEscape(o.Key), `"` + o.ETag + `"`, o.Modified.UTC().Format(time.RFC3339), o.Size})
	}
	for _, prefix := range page.Prefixes {
		answer.CommonPrefixes = append(answer.CommonPrefixes, rolledUp{url.QueryEscape(prefix)})
	}
	w.Header().Set("Content-Type", "application/xml")
	return xml.NewEncoder(w).Encode(answer)
}
