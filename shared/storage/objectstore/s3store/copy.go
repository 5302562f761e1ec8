package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"tiltyard/shared/storage/objectstore"
)

// A copySize holds the sizes for copies of objects.
type copySize struct {
	whole int64 // maximal size for a single request
	part  int64 // of a larger object
}

// usualCopy is below the 5 GiB limit of a single copy request, because parts are copied in parallel and
// thus faster. S3 allows 10,000 parts, enough for its largest object of 5 TiB.
var usualCopy = copySize{whole: 256 << 20, part: 640 << 20}

var _ objectstore.Copier = (*Store)(nil)

// CopyFrom implements objectstore.Copier for stores with the same client, whose credentials cover both
// buckets.
func (s *Store) CopyFrom(ctx context.Context, from objectstore.Store, was objectstore.Info, key string) error {
	source, ok := objectstore.Innermost(from).(*Store)
	if !ok || source.client != s.client {
		return fmt.Errorf("copy %q to %q: %w", was.Key, key, errors.ErrUnsupported)
	}
	full, err := s.fullKey(key)
	if err != nil {
		return err
	}
	read, err := source.fullKey(was.Key)
	if err != nil {
		return err
	}
	c := copying{store: s, source: source, read: read, from: copySource(source.bucket, read), match: was.ETag, full: full}
	if was.Size <= s.copies.whole {
		err = c.whole(ctx, was.Size)
	} else {
		err = c.inParts(ctx, key, was.Size)
	}
	if isStatus(err, http.StatusPreconditionFailed) || isMissing(err) {
		err = objectstore.ErrPrecondition
	}
	if err != nil {
		return fmt.Errorf("copy %q to %q: %w", was.Key, key, err)
	}
	return nil
}

// copySource returns the header that names the object to copy: bucket and key, escaped so that no
// server takes a plus for a space.
func copySource(bucket, key string) string {
	return bucket + "/" + strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(key))
}

// A copying is a copy in progress.
type copying struct {
	store  *Store
	source *Store // that of the object
	read   string // key of the object in its bucket
	from   string // as copySource returns it
	match  string // ETag of the object that is copied
	full   string // key of the copy in its bucket
}

// unchanged returns ErrPrecondition if the source object has changed. On S3 the condition of the copy
// request suffices. Radosgw ignores that condition, so this function checks the object itself.
func (c copying) unchanged(ctx context.Context) error {
	if c.store.server.isS3 {
		return nil
	}
	there, err := c.source.head(ctx, c.read, c.read)
	if errors.Is(err, objectstore.ErrNotExist) || err == nil && there.ETag != c.match {
		return objectstore.ErrPrecondition
	}
	return err
}

// whole copies an object with one request. The time limit of the request assumes that the server copies 50
// times as fast as a transfer.
func (c copying) whole(ctx context.Context, size int64) error {
	s := c.store
	out, err := write(ctx, s, request{"copy", c.full, size / 50, works}, objectstore.Condition{}, func(ctx context.Context) (*s3.CopyObjectOutput, error) {
		return s.client.CopyObject(ctx, &s3.CopyObjectInput{
			Bucket: &s.bucket, Key: &c.full, CopySource: &c.from, CopySourceIfMatch: &c.match,
			// Copying the tags of an object would require another permission.
			TaggingDirective: types.TaggingDirectiveReplace,
		})
	})
	if err != nil || out.CopyObjectResult != nil && quoted(aws.ToString(out.CopyObjectResult.ETag)) == c.match {
		return err
	}
	if err := c.unchanged(ctx); err != nil {
		return errors.Join(err, s.delete(ctx, c.full, objectstore.Condition{}))
	}
	return nil // the copy of an object that was uploaded in parts may have another ETag
}

// inParts copies an object with a multipart upload whose parts are ranges of the source.
func (c copying) inParts(ctx context.Context, key string, size int64) error {
	u, err := c.store.beginUpload(ctx, c.full)
	if err != nil {
		return err
	}
	for at := int64(0); at < size; at += c.store.copies.part {
		u.addCopy(c, at, min(at+c.store.copies.part, size))
	}
	if err = u.group.Wait(); err == nil {
		err = c.unchanged(ctx)
	}
	if err == nil {
		_, err = u.complete(ctx, key, size)
	}
	if err == nil {
		return nil
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer done()
	return errors.Join(err, u.abort(ctx))
}

// addCopy adds the bytes from begin to end of another object as a part.
func (u *upload) addCopy(c copying, begin, end int64) {
	part := u.next()
	s := u.store
	u.group.Go(func() error {
		got, err := u.part(request{"copy part", u.full, (end - begin) / 50, works}, func(ctx context.Context, _ *attempt) (sums, error) {
			out, err := s.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
				Bucket: &s.bucket, Key: &u.full, UploadId: u.id, PartNumber: part.PartNumber,
				CopySource: &c.from, CopySourceIfMatch: &c.match, CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", begin, end-1)),
			})
			if err != nil {
				return sums{}, err
			}
			if out.CopyPartResult == nil || aws.ToString(out.CopyPartResult.ETag) == "" {
				return sums{}, fmt.Errorf("%w: %w", errBroken, errNoETag)
			}
			return sums{out.CopyPartResult.ETag, out.CopyPartResult.ChecksumCRC32}, nil
		})
		return u.arrived(part, got, err)
	})
}
