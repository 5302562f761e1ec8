package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

func TestRangesOfBytesAreParsed(t *testing.T) {
	for _, c := range []struct {
		header string
		total  int64
		want   byteRange
		asked  bool
	}{
		{"", 10, byteRange{}, false},
		{"bytes=0-0", 10, byteRange{0, 1}, true},
		{"bytes=2-4", 10, byteRange{2, 3}, true},
		{"bytes=4-", 10, byteRange{4, 6}, true},
		{"bytes=4-99", 10, byteRange{4, 6}, true},
		{"bytes=-3", 10, byteRange{7, 3}, true},
		{"bytes=-30", 10, byteRange{0, 10}, true},
		{"bytes=-0", 10, byteRange{10, 0}, true},
		{"bytes=10-", 10, byteRange{10, 0}, true},
		{"bytes=0-0", 0, byteRange{0, 0}, true},
		{"bytes=0-9223372036854775807", 10, byteRange{0, 10}, true},
		{"bytes=0-9223372036854775808", 10, byteRange{}, false},
		{"bytes=9223372036854775808-", 10, byteRange{}, false},
		{"bytes=4-2", 10, byteRange{}, false},
		{"bytes=0-1,4-5", 10, byteRange{}, false},
		{"bytes=-", 10, byteRange{}, false},
		{"bytes=+1-2", 10, byteRange{}, false},
		{"bytes=x-", 10, byteRange{}, false},
		{"bytes", 10, byteRange{}, false},
		{"rows=1-2", 10, byteRange{}, false},
	} {
		got, asked := parseRange(c.header, c.total)
		if asked != c.asked || asked && got != c.want {
			t.Errorf("%q of %d: got %v, %v; want %v, %v", c.header, c.total, got, asked, c.want, c.asked)
		}
	}
}

// bytesHandler serves one value by the path of a blob, and fails from an offset on.
func bytesHandler(value []byte, null bool, failFrom int64) http.Handler {
	route := Bytes("ReadTableBlob", func(context.Context, *queryapi.ReadBlobRequest) (*protocol.Bytes, error) {
		return &protocol.Bytes{
			Version: 7, Null: null, Size: int64(len(value)),
			Read: func(_ context.Context, from, size int64) ([]byte, error) {
				if from >= failFrom {
					return nil, errors.New("disk on fire")
				}
				return value[from : from+size], nil
			},
		}, nil
	})
	return Handler([]Route{route}, Options{Verifier: verifier{}})
}

func getBlob(t *testing.T, h http.Handler, part string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/v1/table/t/blob/b/1/bytes", nil)
	r.Header.Set("Authorization", "Bearer "+testToken)
	if part != "" {
		r.Header.Set("Range", part)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestBytesAreAnsweredInPieces(t *testing.T) {
	value := bytes.Repeat([]byte("0123456789abcdef"), bytesPiece/16+10)
	const never = 1 << 62
	for _, c := range []struct {
		name   string
		value  []byte
		null   bool
		part   string
		status int
		body   []byte
		span   string
	}{
		{"whole", value, false, "", 200, value, ""},
		{"part", value, false, "bytes=3-5", 206, value[3:6], "bytes 3-5/8388768"},
		{"two pieces", value, false, "bytes=1-", 206, value[1:], "bytes 1-8388767/8388768"},
		{"beyond the end", value, false, "bytes=8388768-", 416, nil, "bytes */8388768"},
		{"empty", nil, false, "", 200, nil, ""},
		{"part of what is empty", nil, false, "bytes=0-0", 416, nil, "bytes */0"},
		{"null", nil, true, "bytes=0-0", 204, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := getBlob(t, bytesHandler(c.value, c.null, never), c.part)
			if w.Code != c.status || !bytes.Equal(w.Body.Bytes(), c.body) {
				t.Errorf("got %d and %d bytes, want %d and %d", w.Code, w.Body.Len(), c.status, len(c.body))
			}
			if got := w.Header().Get("Content-Range"); got != c.span {
				t.Errorf("Content-Range %q, want %q", got, c.span)
			}
			if got := w.Header().Get(versionHeader); got != "7" {
				t.Errorf("version %q, want 7", got)
			}
		})
	}
}

func TestBytesThatCannotBeReadAreAnError(t *testing.T) {
	value := make([]byte, bytesPiece+1)
	if w := getBlob(t, bytesHandler(value, false, 0), ""); w.Code != http.StatusInternalServerError {
		t.Errorf("failing at once: got %d, want 500", w.Code)
	}
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("failing later: got %v, want the connection to be aborted", cause)
		}
	}()
	getBlob(t, bytesHandler(value, false, 1), "")
}
