package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"tiltyard/shared/storage/objectstore"
)

var _ objectstore.Uploader = (*Store)(nil)

// Unfinished implements objectstore.Uploader. It needs the permission ListBucketMultipartUploads.
func (s *Store) Unfinished(ctx context.Context, before time.Time) (count int, first string, err error) {
	err = s.unfinished(ctx, before, func(keys []string, _ types.MultipartUpload) error {
		if count++; count == 1 {
			first = keys[0]
		}
		return nil
	})
	return count, first, err
}

// AbortUnfinished implements objectstore.Uploader.
func (s *Store) AbortUnfinished(ctx context.Context, before time.Time) (aborted int, err error) {
	err = s.unfinished(ctx, before, func(keys []string, u types.MultipartUpload) error {
		for _, key := range keys {
			err := s.abortUpload(ctx, s.prefix+key, u.UploadId)
			if err == nil {
				aborted++
			}
			if !isStatus(err, http.StatusNotFound) {
				return err
			}
		}
		return nil // completed or aborted by another process meanwhile
	})
	return aborted, err
}

func (s *Store) abortUpload(ctx context.Context, full string, id *string) error {
	in := &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &full, UploadId: id}
	_, err := write(ctx, s, request{"abort upload", full, 0, works}, objectstore.Condition{}, func(ctx context.Context) (*s3.AbortMultipartUploadOutput, error) {
		return s.client.AbortMultipartUpload(ctx, in)
	})
	return err
}

// uploadKeys returns the possible store keys for the name of a listed upload; the upload id is valid for
// only one of them. Radosgw URL-encodes the name, as requested, but does not declare the encoding.
func (s *Store) uploadKeys(name *string, encoding types.EncodingType) (keys []string, err error) {
	for _, encoding := range []types.EncodingType{encoding, types.EncodingTypeUrl} {
		key, keyErr := s.listedKey(name, encoding)
		if keyErr == nil && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		err = cmp.Or(err, keyErr)
	}
	if len(keys) > 0 {
		err = nil
	}
	return keys, err
}

// unfinished calls f for each upload begun before a time, with the possible store keys of its object.
func (s *Store) unfinished(ctx context.Context, before time.Time, f func(keys []string, u types.MultipartUpload) error) error {
	in := &s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: &s.prefix, EncodingType: types.EncodingTypeUrl}
	for {
		out, err := read(ctx, s, "list uploads", s.prefix, 0, func(ctx context.Context, _ *attempt) (*s3.ListMultipartUploadsOutput, error) {
			in := *in
			return s.client.ListMultipartUploads(ctx, &in)
		})
		if err != nil {
			return fmt.Errorf("list unfinished uploads: %w", err)
		}
		for _, u := range out.Uploads {
			keys, err := s.uploadKeys(u.Key, out.EncodingType)
			if err == nil && u.Initiated != nil && u.Initiated.Before(before) {
				err = f(keys, u)
			}
			if err != nil {
				return err
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
		if aws.ToString(out.NextKeyMarker) == "" && aws.ToString(out.NextUploadIdMarker) == "" {
			return fmt.Errorf("list unfinished uploads: %w", errors.Join(errBroken, errors.New("the page is not the last, but names none after it")))
		}
		// The markers are encoded like keys, but must be sent decoded.
		next, err := decoded(out.NextKeyMarker, out.EncodingType)
		if err != nil {
			return err
		}
		in.KeyMarker, in.UploadIdMarker = &next, out.NextUploadIdMarker
	}
}
