package main

import (
	"crypto/rand"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// uploads keeps the parts of unfinished uploads in memory, by upload and number.
type uploads struct {
	mu    sync.Mutex
	parts map[string]map[int][]byte
}

// upload carries out a request of an upload in parts: its beginning, a part, its end, or that it is given up.
func (b *bucket) upload(w http.ResponseWriter, r *http.Request, key string) error {
	query := r.URL.Query()
	id := query.Get("uploadId")
	switch {
	case query.Has("uploads") && r.Method == http.MethodPost:
		id = b.uploads.begin()
		return xml.NewEncoder(w).Encode(struct {
			XMLName xml.Name `xml:"InitiateMultipartUploadResult"`
			Upload  string   `xml:"UploadId"`
		}{Upload: id})
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") == "":
		number, err := strconv.Atoi(query.Get("partNumber"))
		if err != nil {
			return refusal{http.StatusBadRequest, "InvalidArgument"}
		}
		data, err := body(r)
		if err != nil {
			return err
		}
		if !b.uploads.add(id, number, data) {
			return refusal{http.StatusNotFound, "NoSuchUpload"}
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%08x"`, crc32.ChecksumIEEE(data)))
		return nil
	case r.Method == http.MethodPost:
		return b.complete(w, r, key, id)
	case r.Method == http.MethodDelete:
		b.uploads.take(id)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return refusal{http.StatusNotImplemented, "NotImplemented"}
}

func (u *uploads) begin() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	id := rand.Text()
	u.parts[id] = map[int][]byte{}
	return id
}

func (u *uploads) add(id string, number int, data []byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	parts, known := u.parts[id]
	if known {
		parts[number] = data
	}
	return known
}

func (u *uploads) take(id string) map[int][]byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	parts := u.parts[id]
	delete(u.parts, id)
	return parts
}

// complete makes an object of all parts of an upload.
func (b *bucket) complete(w http.ResponseWriter, r *http.Request, key, id string) error {
	parts := b.uploads.take(id)
	if len(parts) == 0 {
		return refusal{http.StatusNotFound, "NoSuchUpload"}
	}
	writer, err := b.objects.Create(r.Context(), key)
	if err != nil {
		return err
	}
	for _, number := range slices.Sorted(maps.Keys(parts)) {
		if _, err := writer.Write(parts[number]); err != nil {
			_ = writer.Abort() // the error of the write counts
			return err
		}
	}
	info, err := writer.Commit()
	if err != nil {
		return err
	}
	return xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		ETag    string
	}{ETag: `"` + info.ETag + `"`})
}
