package s3store

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/objectstore"
)

// A server is what a store knows of its server. Whatever is nil has not been found out.
type server struct {
	isS3         bool                 // and so does all as S3 does
	exactDeletes atomic.Pointer[bool] // whether conditional deletes can be relied on (mark.go)
	bareETags    atomic.Pointer[bool] // whether If-Match of a put takes ETags without their quotes alone
}

// serverOf returns what is known of the server of a client. Only S3 has no endpoint.
func serverOf(client *s3.Client) *server {
	return &server{isS3: aws.ToString(client.Options().BaseEndpoint) == ""}
}

// quoted returns an ETag with the quotes that belong to it (RFC 9110, 8.8.3). Radosgw leaves them out where
// an upload is completed, and the same object has them everywhere else.
func quoted(etag string) string {
	if etag == "" || strings.HasSuffix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}

// putIfMatch puts under the condition that the object has an ETag. Radosgw compares that of the condition,
// with its quotes, with one that has none, so that it refuses all of these puts. The store notices by an object
// that still has the ETag after a refusal, and from then on leaves the quotes out.
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
			return info, err // the put did not happen, whether or not the object could be looked at
		}
		if info, err = s.putOnce(ctx, key, full, data, objectstore.Condition{IfMatch: bare}); err == nil {
			s.server.bareETags.Store(aws.Bool(true))
		}
	} else if err == nil {
		s.server.bareETags.Store(aws.Bool(false))
	}
	return info, err
}
