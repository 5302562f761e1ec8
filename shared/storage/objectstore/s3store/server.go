package s3store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/storage/objectstore"
)

// A server caches the detected behaviour of the server. Nil means not detected yet.
type server struct {
	isS3         bool                 // and so does all as S3 does
	exactDeletes atomic.Pointer[bool] // whether conditional deletes can be relied on (mark.go)
	bareETags    atomic.Pointer[bool] // whether If-Match of a put takes ETags without their quotes alone
}

// serverOf returns the initial state for the server of a client. Only S3 itself has no configured endpoint.
func serverOf(client *s3.Client) *server {
	return &server{isS3: aws.ToString(client.Options().BaseEndpoint) == ""}
}

// quoted returns an ETag with its quotes (RFC 9110, 8.8.3). Radosgw omits them in the response to a
// completed upload, but nowhere else.
func quoted(etag string) string {
	if etag == "" || strings.HasSuffix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}

// putIfMatch puts under the condition that the object has an ETag. Radosgw compares the condition, with its
// quotes, to an ETag without quotes, and so refuses all of these puts. The store detects this when an
// object still has the ETag after a refusal, and from then on omits the quotes.
func (s *Store) putIfMatch(ctx context.Context, key, full string, data []byte, etag string) (objectstore.Info, error) {
	bare := strings.Trim(etag, `"`)
	switch known := s.server.bareETags.Load(); {
	case s.server.isS3, known != nil && !*known:
		return s.putOnce(ctx, key, full, data, objectstore.Condition{IfMatch: etag})
	case known != nil:
		return s.putOnce(ctx, key, full, data, objectstore.Condition{IfMatch: bare})
	}
	info, err := s.putOnce(ctx, key, full, data, objectstore.Condition{IfMatch: etag})
	if errors.Is(err, objectstore.ErrPrecondition) {
		there, lookErr := s.head(ctx, key, full)
		if lookErr != nil || there.ETag != etag {
			return info, err // the put failed, even if the object could not be examined
		}
		if info, err = s.putOnce(ctx, key, full, data, objectstore.Condition{IfMatch: bare}); err == nil {
			s.server.bareETags.Store(aws.Bool(true))
		}
	} else if err == nil {
		s.server.bareETags.Store(aws.Bool(false))
	}
	return info, err
}
