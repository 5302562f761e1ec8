// Package s3store keeps objects in a bucket of S3, or of a server with the same protocol, below a key
// prefix. Native Lance may read and write the same bucket at the same time.
//
// Conditional writes use the If-None-Match and If-Match headers of S3. The store interprets the responses
// as follows:
//
//	412                         final: another writer won, ErrPrecondition
//	409, two requests collided  not carried out: sent again
//	5xx, time-out, reset        unknown: sent again
//	412 after one of those      perhaps caused by our own first request: ErrUnknownOutcome
//
// The SDK's own retries are disabled, because a 412 caused by our own write would then look like a lost
// race. [Store] retries instead, with full jitter, until shortly before the caller's deadline. It logs each
// retry, and errors contain the number of attempts. The time limit of a request grows with its bytes. A
// small request without an answer within a second is sent a second time in parallel, so that a stalled
// connection costs little. If S3 stays overloaded or out of reach, or the bucket is missing, the error is
// an [outage.Error].
//
// The server must be strongly consistent, carry out conditional puts atomically, and list in key order, as
// S3 does. Some substitutes violate this, although they claim otherwise; the races in storetest detect it.
// Some otherwise suitable servers lack conditional deletes, or do not execute them atomically. The store
// then marks an object as deleted before it deletes it (mark.go).
//
// A role needs GetObject, PutObject, DeleteObject and AbortMultipartUpload below the prefix, and
// ListBucket, without which S3 answers 403 for missing objects. Unfinished uploads of crashed processes are
// not listed but cost money; a lifecycle rule of the bucket should delete them after a day.
// [Store.AbortUnfinished] deletes them, too; it needs ListBucketMultipartUploads.
package s3store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/objectstore"
)

// maxKeyBytes is the length of the longest key in S3, including the prefix of the store.
const maxKeyBytes = 1024

// A Store holds objects in a bucket. New makes one.
type Store struct {
	client *s3.Client
	bucket string
	prefix string // common prefix of all keys; empty, or with a slash at the end
	log    *slog.Logger
	pace   pace
	copies copySize

	server *server
}

var _ objectstore.Store = (*Store)(nil)

// New returns a store for the objects of bucket below prefix, which is a key, or empty for the whole
// bucket. The client comes from NewClient; stores may share it. New sends no request, so a missing bucket
// is detected by the first request. Retries are logged to log as warnings.
func New(client *s3.Client, bucket, prefix string, log *slog.Logger) (*Store, error) {
	if bucket == "" {
		return nil, errors.New("open S3 store: no bucket")
	}
	if prefix != "" {
		if err := objectstore.CheckKey(prefix); err != nil {
			return nil, fmt.Errorf("open S3 store on %s: %w", bucket, err)
		}
		prefix += "/"
	}
	return &Store{client: client, bucket: bucket, prefix: prefix, log: log, pace: usualPace, copies: usualCopy, server: serverOf(client)}, nil
}

// NewClient returns a client for stores with the region, credentials and endpoint of cfg. It opens no
// connection. If cfg has an endpoint, the bucket is in the path instead of the host name, as servers other
// than S3 expect, and no region is needed.
func NewClient(cfg aws.Config) (*s3.Client, error) {
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = cloud.NewHTTPClient(cfg.HTTPClient)
		o.Retryer = aws.NopRetryer{}
		o.UsePathStyle = o.BaseEndpoint != nil
		// Objects that were stored without a checksum are normal and not worth a log line.
		o.DisableLogOutputChecksumValidationSkipped = true
		if o.Region == "" && o.BaseEndpoint != nil {
			o.Region = "us-east-1" // servers without regions accept signatures for this region
		}
	})
	if client.Options().Region == "" {
		return nil, errors.New("no region of AWS is configured (AWS_REGION)")
	}
	return client, nil
}

// fullKey returns the key in the bucket, or ErrInvalidKey.
func (s *Store) fullKey(key string) (string, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return "", err
	}
	if n := len(s.prefix) + len(key); n > maxKeyBytes {
		return "", fmt.Errorf("%w: %.40q… is %d bytes long in the bucket, more than S3 allows", objectstore.ErrInvalidKey, key, n)
	}
	return s.prefix + key, nil
}

// Delete implements objectstore.Store.
func (s *Store) Delete(ctx context.Context, key string, cond objectstore.Condition) error {
	if err := objectstore.CheckDelete(key, cond); err != nil {
		return err
	}
	full, err := s.fullKey(key)
	if err != nil {
		return err
	}
	exact := true
	if cond.IfMatch != "" {
		if exact, err = s.exactDeletes(ctx); err != nil {
			return fmt.Errorf("delete %q: %w", key, err)
		}
	}
	if exact {
		err = s.delete(ctx, full, cond)
	} else {
		err = s.markAndDelete(ctx, key, full, cond)
	}
	if err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	return nil
}

// delete sends a delete. Each attempt gets its own copy of the input, because two may run concurrently.
func (s *Store) delete(ctx context.Context, full string, cond objectstore.Condition) error {
	in := s3.DeleteObjectInput{Bucket: &s.bucket, Key: &full}
	if cond.IfMatch != "" {
		in.IfMatch = &cond.IfMatch
	}
	_, err := write(ctx, s, request{"delete", full, 0, writes}, cond, func(ctx context.Context) (*s3.DeleteObjectOutput, error) {
		in := in
		return s.client.DeleteObject(ctx, &in)
	})
	return err
}
