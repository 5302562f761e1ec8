// Package s3store keeps objects in a bucket of S3, or of a server that speaks its
// protocol, below a key prefix. Native Lance may read and write the same bucket at the
// same time.
//
// Conditional writes are those of S3: If-None-Match and If-Match. What the server answers
// means:
//
//	412                         settled: somebody owns the key, ErrPrecondition
//	409, two requests met       not carried out: sent again
//	5xx, time-out, reset        nobody knows: sent again
//	412 after one of those      perhaps our own first request: ErrUnknownOutcome
//
// The SDK never retries on its own, so that a 412 for our own write cannot pass for a lost
// race. [Store] does, with full jitter and a bound, and logs each further attempt; errors
// say how many there were. Requests have a time limit that grows with their bytes: one that
// stalls is given up and tried again long before the caller's deadline.
//
// The server must be strongly consistent, answer conditional puts atomically and list in
// key order, as S3 does. Some stand-ins only look so: the contract in storetest races 64
// writers, which tells. Conditional deletes are missing in some that are good otherwise
// (501); those get a look and then a delete, which is not atomic.
//
// A role needs GetObject, PutObject, DeleteObject and AbortMultipartUpload below the
// prefix, and ListBucket: without it S3 answers 403 for what does not exist. Uploads that
// a crash left unfinished are not listed but cost; a lifecycle rule of the bucket should
// end them after a day.
package s3store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/objectstore"
)

// maxKeyBytes is the longest key that S3 takes, with the prefix of the store.
const maxKeyBytes = 1024

// A Store holds objects in a bucket. Make one with New.
type Store struct {
	client *s3.Client
	bucket string
	prefix string // of all keys; empty, or with a slash at the end
	log    *slog.Logger
	pace   pace
}

var _ objectstore.Store = (*Store)(nil)

// New returns a store of the objects of bucket below prefix, which is a key, or empty for
// the whole bucket. The client is one of NewClient; stores may share it. It asks the
// server nothing: whether the bucket exists shows with the first request. Further attempts
// of requests are logged to log as warnings.
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
	return &Store{client: client, bucket: bucket, prefix: prefix, log: log, pace: usualPace}, nil
}

// NewClient returns a client for stores. Region, credentials and endpoint are those of
// cfg; it opens no connection. With an endpoint of its own the bucket is in the path and
// not in the host name, as servers other than S3 expect, and there need not be a region.
func NewClient(cfg aws.Config) (*s3.Client, error) {
	transport, ok := cfg.HTTPClient.(*awshttp.BuildableClient) // with the certificates of cfg
	if !ok {
		transport = awshttp.NewBuildableClient()
	}
	transport = transport.WithDialerOptions(func(d *net.Dialer) { d.Timeout = 3 * time.Second }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout = 5 * time.Second
			// All requests go to one host. Fewer idle connections than requests at a time
			// would mean a new handshake for each of the others.
			t.MaxIdleConns = maxIdleConnections
			t.MaxIdleConnsPerHost = maxIdleConnections
		})
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.HTTPClient = transport
		o.Retryer = aws.NopRetryer{}
		o.UsePathStyle = o.BaseEndpoint != nil
		// What was stored without a checksum is no news.
		o.DisableLogOutputChecksumValidationSkipped = true
		if o.Region == "" && o.BaseEndpoint != nil {
			o.Region = "us-east-1" // which servers that know no regions sign for
		}
	})
	if client.Options().Region == "" {
		return nil, errors.New("no region of AWS is configured (AWS_REGION)")
	}
	return client, nil
}

const maxIdleConnections = 256

// fullKey returns the key in the bucket, or ErrInvalidKey.
func (s *Store) fullKey(key string) (string, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return "", err
	}
	if n := len(s.prefix) + len(key); n > maxKeyBytes {
		return "", fmt.Errorf("%w: %.40q… is %d bytes long in the bucket, more than S3 takes", objectstore.ErrInvalidKey, key, n)
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
	err = s.delete(ctx, full, cond)
	if cond.IfMatch != "" && isStatus(err, http.StatusNotImplemented) {
		err = s.lookAndDelete(ctx, key, full, cond)
	}
	if err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	return nil
}

func (s *Store) delete(ctx context.Context, full string, cond objectstore.Condition) error {
	in := &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &full}
	if cond.IfMatch != "" {
		in.IfMatch = &cond.IfMatch
	}
	return s.write(ctx, "delete", full, 0, cond, func(ctx context.Context) error {
		_, err := s.client.DeleteObject(ctx, in)
		return err
	})
}

// lookAndDelete is for servers without conditional deletes. Between its two requests
// somebody may put another object, and that is deleted then.
func (s *Store) lookAndDelete(ctx context.Context, key, full string, cond objectstore.Condition) error {
	info, err := s.head(ctx, key, full)
	if errors.Is(err, objectstore.ErrNotExist) {
		return objectstore.ErrPrecondition
	}
	if err != nil {
		return err
	}
	if strings.Trim(info.ETag, `"`) != strings.Trim(cond.IfMatch, `"`) {
		return objectstore.ErrPrecondition
	}
	return s.delete(ctx, full, objectstore.Condition{})
}
