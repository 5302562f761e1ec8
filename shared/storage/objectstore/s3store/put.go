package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tiltyard/shared/storage/objectstore"
)

// Put implements objectstore.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if err := objectstore.CheckPut(key, cond); err != nil {
		return objectstore.Info{}, err
	}
	full, err := s.fullKey(key)
	if err != nil {
		return objectstore.Info{}, err
	}
	info, err := s.put(ctx, key, full, data, cond)
	if cond.IfAbsent && !s.server.isS3 && errors.Is(err, objectstore.ErrPrecondition) {
		info, err = s.replaceMark(ctx, key, full, data)
	}
	if err != nil {
		return objectstore.Info{}, fmt.Errorf("put %q: %w", key, err)
	}
	return info, nil
}

func (s *Store) put(ctx context.Context, key, full string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if cond.IfMatch != "" {
		return s.putIfMatch(ctx, key, full, data, cond.IfMatch)
	}
	return s.putOnce(ctx, key, full, data, cond)
}

// putOnce sends one put, with the ETag of a condition unchanged.
func (s *Store) putOnce(ctx context.Context, key, full string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	in := s3.PutObjectInput{Bucket: &s.bucket, Key: &full, ContentLength: aws.Int64(int64(len(data)))}
	switch {
	case cond.IfAbsent:
		in.IfNoneMatch = aws.String("*")
	case cond.IfMatch != "":
		in.IfMatch = &cond.IfMatch
	}
	return write(ctx, s, request{"put", full, int64(len(data)), writes}, cond, func(ctx context.Context) (objectstore.Info, error) {
		in := in
		in.Body = bytes.NewReader(data)
		out, err := s.client.PutObject(ctx, &in)
		if err != nil {
			return objectstore.Info{}, err
		}
		return written(key, int64(len(data)), out.ETag, out.ResultMetadata)
	})
}

// written returns the Info of a write that the server has confirmed. If the confirmation is
// incomplete, the attempt counts as broken off, although the write has happened.
func written(key string, size int64, etag *string, metadata middleware.Metadata) (objectstore.Info, error) {
	answer, ok := awsmiddleware.GetRawResponse(metadata).(*smithyhttp.Response)
	if !ok {
		return objectstore.Info{}, fmt.Errorf("%w: no headers", errBroken)
	}
	info, err := infoOfWrite(key, size, etag, answer.Response)
	if err != nil {
		return objectstore.Info{}, fmt.Errorf("%w: %w", errBroken, err)
	}
	return info, nil
}

// infoOfWrite returns the Info of a new object. S3 does not return the time of a write, only that
// of its answer; the two differ by less than the duration of the request.
func infoOfWrite(key string, size int64, etag *string, answer *http.Response) (objectstore.Info, error) {
	if aws.ToString(etag) == "" {
		return objectstore.Info{}, errNoETag
	}
	modified, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return objectstore.Info{}, fmt.Errorf("date of the answer: %w", err)
	}
	return objectstore.Info{Key: key, Size: size, ETag: quoted(*etag), Modified: modified}, nil
}

var errNoETag = errors.New("the server returned no ETag")
