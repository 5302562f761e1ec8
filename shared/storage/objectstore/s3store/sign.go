package s3store

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/storage/objectstore"
)

var _ objectstore.Signer = (*Store)(nil)

// signing returns the client that signs URLs. A URL to PUT to holds no checksum, since the bytes come later.
func (s *Store) signing(lasts time.Duration) *s3.PresignClient {
	return s3.NewPresignClient(s.client, s3.WithPresignExpires(lasts), s3.WithPresignClientFromClientOptions(func(o *s3.Options) {
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	}))
}

// SignGet implements objectstore.Signer. The URL ends earlier if the credentials of the store do.
func (s *Store) SignGet(ctx context.Context, key, contentType string, lasts time.Duration) (string, error) {
	full, err := s.fullKey(key)
	if err != nil {
		return "", err
	}
	in := &s3.GetObjectInput{Bucket: &s.bucket, Key: &full}
	if contentType != "" {
		in.ResponseContentType = &contentType
	}
	signed, err := s.signing(lasts).PresignGetObject(ctx, in)
	if err != nil {
		return "", fmt.Errorf("sign a read of %q: %w", key, err)
	}
	return signed.URL, nil
}

// SignPut implements objectstore.Signer, as SignGet does.
func (s *Store) SignPut(ctx context.Context, key string, lasts time.Duration) (string, error) {
	full, err := s.fullKey(key)
	if err != nil {
		return "", err
	}
	signed, err := s.signing(lasts).PresignPutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &full})
	if err != nil {
		return "", fmt.Errorf("sign a write of %q: %w", key, err)
	}
	return signed.URL, nil
}
