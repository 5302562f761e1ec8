package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/storage/objectstore"
)

const (
	// readers bounds the concurrent requests of one GetRanges. A search by an index of vectors needs some fifty.
	readers = 64
	// changes bounds the restarts of a GetRanges after the object was replaced between its requests.
	changes = 20
)

// Get implements objectstore.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	full, err := s.fullKey(key)
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	data, info, err := s.get(ctx, key, full)
	if err == nil && s.mayBeMark(info) && string(data) == mark {
		err = objectstore.ErrNotExist
	}
	if err != nil {
		return nil, objectstore.Info{}, fmt.Errorf("get %q: %w", key, err)
	}
	return data, info, nil
}

// contents holds all bytes of an object, or some of them.
type contents struct {
	data []byte
	info objectstore.Info
}

// get reads a whole object. The time limit is extended once the size is known.
func (s *Store) get(ctx context.Context, key, full string) ([]byte, objectstore.Info, error) {
	got, err := read(ctx, s, "get", full, 0, func(ctx context.Context, a *attempt) (contents, error) {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &full})
		if err != nil {
			return contents{}, err
		}
		defer func() { _ = out.Body.Close() }()
		size := aws.ToInt64(out.ContentLength)
		a.expect(size)
		info, err := infoOfRead(key, size, out.ETag, out.LastModified)
		if err != nil {
			return contents{}, err
		}
		data, err := readBody(out.Body, size)
		return contents{data, info}, err
	})
	return got.data, got.info, err
}

// readBody reads the n bytes of a body and its end, where the SDK compares checksums.
func readBody(body io.Reader, n int64) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("%w: it has no length", errBroken)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	var more [1]byte
	if _, err := io.ReadFull(body, more[:]); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: after %d bytes: %w", errBroken, n, err)
	}
	return data, nil
}

func infoOfRead(key string, size int64, etag *string, modified *time.Time) (objectstore.Info, error) {
	if aws.ToString(etag) == "" {
		return objectstore.Info{}, errNoETag
	}
	// Headers have whole seconds, and so do the listings of S3. Some other servers list fractions, which
	// would give one object two times.
	return objectstore.Info{Key: key, Size: size, ETag: quoted(*etag), Modified: aws.ToTime(modified).Truncate(time.Second)}, nil
}

func (s *Store) head(ctx context.Context, key, full string) (objectstore.Info, error) {
	return read(ctx, s, "head", full, 0, func(ctx context.Context, _ *attempt) (objectstore.Info, error) {
		out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &full})
		if err != nil {
			return objectstore.Info{}, err
		}
		return infoOfRead(key, aws.ToInt64(out.ContentLength), out.ETag, out.LastModified)
	})
}

// GetRanges implements objectstore.Store. Each range is one request. An empty range needs none if
// another range is not empty.
func (s *Store) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	full, err := s.fullKey(key)
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	for range changes {
		var parts [][]byte
		var info objectstore.Info
		parts, info, err = s.ranges(ctx, key, full, ranges)
		if err == nil && s.mayBeMark(info) || !s.server.isS3 && errors.Is(err, objectstore.ErrInvalidRange) {
			if _, marked, lookErr := s.isMark(ctx, key, full); marked || lookErr != nil {
				err = cmp.Or(lookErr, objectstore.ErrNotExist)
			}
		}
		if err == nil {
			return parts, info, nil
		}
		if !errors.Is(err, errChanged) {
			break
		}
	}
	return nil, objectstore.Info{}, fmt.Errorf("get ranges of %q: %w", key, err)
}

var errChanged = errors.New("the object was replaced while it was read")

// ranges reads all ranges in parallel. It returns errChanged if they came from different versions of the
// object.
func (s *Store) ranges(ctx context.Context, key, full string, ranges []objectstore.Range) ([][]byte, objectstore.Info, error) {
	parts := make([][]byte, len(ranges))
	infos := make([]objectstore.Info, len(ranges))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	last := -1
	for i, r := range ranges {
		if r.Length == 0 && r.Offset >= 0 {
			parts[i] = []byte{}
			continue
		}
		last = i
		group.Go(func() (err error) {
			parts[i], infos[i], err = s.part(groupCtx, key, full, r)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, objectstore.Info{}, err
	}
	if last < 0 {
		info, err := s.head(ctx, key, full)
		if err != nil {
			return nil, objectstore.Info{}, err
		}
		return parts, info, within(ranges, info.Size)
	}
	for i := range infos {
		if infos[i].ETag != "" && infos[i].ETag != infos[last].ETag {
			return nil, objectstore.Info{}, errChanged
		}
	}
	return parts, infos[last], within(ranges, infos[last].Size)
}

// within returns ErrInvalidRange unless all ranges lie within an object of the given size.
func within(ranges []objectstore.Range, size int64) error {
	for _, r := range ranges {
		if _, _, err := r.Within(size); err != nil {
			return err
		}
	}
	return nil
}

// part reads one non-empty range.
func (s *Store) part(ctx context.Context, key, full string, r objectstore.Range) ([]byte, objectstore.Info, error) {
	if r.Offset < 0 {
		r.Length = 0 // the length of a suffix range is ignored
	}
	header, err := rangeHeader(r)
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	got, err := read(ctx, s, "get "+header, full, r.Length, func(ctx context.Context, a *attempt) (contents, error) {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &full, Range: &header})
		if err != nil {
			return contents{}, err
		}
		defer func() { _ = out.Body.Close() }()
		length, size, err := answered(out, r)
		if err != nil {
			return contents{}, err
		}
		a.expect(length)
		info, err := infoOfRead(key, size, out.ETag, out.LastModified)
		if err != nil {
			return contents{}, err
		}
		data, err := readBody(out.Body, length)
		return contents{data, info}, err
	})
	if isStatus(err, http.StatusRequestedRangeNotSatisfiable) {
		return s.unsatisfiable(ctx, key, full, r)
	}
	return got.data, got.info, err
}

// rangeHeader returns the header for r, or ErrInvalidRange for a range that no object can contain.
func rangeHeader(r objectstore.Range) (string, error) {
	switch {
	case r.Offset < 0:
		return fmt.Sprintf("bytes=-%d", -max(r.Offset, -math.MaxInt64)), nil
	case r.Length < 0, r.Length > math.MaxInt64-r.Offset:
		return "", fmt.Errorf("%w: %d bytes at %d", objectstore.ErrInvalidRange, r.Length, r.Offset)
	}
	return fmt.Sprintf("bytes=%d-%d", r.Offset, r.Offset+r.Length-1), nil
}

// answered returns the number of bytes in out and the size of the object. It returns an error if out does
// not contain the bytes of r.
func answered(out *s3.GetObjectOutput, r objectstore.Range) (length, size int64, err error) {
	var first, last int64
	length = aws.ToInt64(out.ContentLength)
	if out.ContentRange == nil {
		// The answer is the whole object, because the request was for all of it, or because the
		// server ignores ranges.
		last, size = length-1, length
	} else if _, err := fmt.Sscanf(*out.ContentRange, "bytes %d-%d/%d", &first, &last, &size); err != nil {
		return 0, 0, fmt.Errorf("content range %q: %w", *out.ContentRange, err)
	}
	offset, want, err := r.Within(size)
	if err != nil {
		return 0, 0, err
	}
	if first != offset || last-first != want-1 || length != want {
		return 0, 0, fmt.Errorf("the request was for %d bytes at %d of %d, and the server sent %d at %d", want, offset, size, length, first)
	}
	return length, size, nil
}

// unsatisfiable handles the response that the object contains no byte of r. A suffix of an empty object is
// not an error.
func (s *Store) unsatisfiable(ctx context.Context, key, full string, r objectstore.Range) ([]byte, objectstore.Info, error) {
	if r.Offset >= 0 {
		return nil, objectstore.Info{}, fmt.Errorf("%w: %d bytes at %d", objectstore.ErrInvalidRange, r.Length, r.Offset)
	}
	info, err := s.head(ctx, key, full)
	if err == nil && info.Size > 0 {
		err = errChanged
	}
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	return []byte{}, info, nil
}
