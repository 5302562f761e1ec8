package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/storage/objectstore"
)

const (
	// firstPart is the size of the first parts. S3 requires at least 5 MiB for all parts but the
	// last.
	firstPart = 8 << 20
	// growEvery is the number of parts after which the size of a part doubles. S3 takes 10,000
	// parts, which then suffice for its largest object of 5 TiB.
	growEvery = 1000
	// uploads bounds the concurrent part requests of one writer.
	uploads = 4

	// abortTime is the time limit for cleaning up, which also applies after the request's own
	// deadline.
	abortTime = 10 * time.Second
)

// Create implements objectstore.Store. An object smaller than one part is put at the commit. The parts of a
// larger one are sent during the writes.
func (s *Store) Create(ctx context.Context, key string) (objectstore.Writer, error) {
	full, err := s.fullKey(key)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create %q: %w", key, err)
	}
	return &writer{ctx: ctx, store: s, key: key, full: full}, nil
}

// A writer divides the written bytes into parts. It keeps the context of Create, because the
// methods of io.Writer have none.
type writer struct {
	ctx       context.Context
	store     *Store
	key, full string
	part      []byte  // the part that is being filled
	size      int64   // number of bytes written so far
	upload    *upload // nil before the first full part
	finished  bool
}

var errFinished = errors.New("writer is finished")

// Write buffers bytes, and sends each full part.
func (w *writer) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if err := w.usable(); err != nil {
			return n, fmt.Errorf("write %q: %w", w.key, err)
		}
		room := w.partSize() - len(w.part)
		if room == 0 {
			if err := w.send(); err != nil {
				return n, fmt.Errorf("write %q: %w", w.key, err)
			}
			continue
		}
		taken := p[n:min(len(p), n+room)]
		w.part = append(w.part, taken...)
		n += len(taken)
		w.size += int64(len(taken))
	}
	return n, w.usable()
}

func (w *writer) partSize() int {
	if w.upload == nil {
		return firstPart
	}
	return firstPart << (len(w.upload.parts) / growEvery)
}

// send passes the part to the upload, which it begins for the first part.
func (w *writer) send() error {
	if w.upload == nil {
		u, err := w.store.beginUpload(w.ctx, w.full)
		if err != nil {
			return err
		}
		w.upload = u
	}
	w.upload.add(w.part)
	w.part = make([]byte, 0, w.partSize())
	return nil
}

func (w *writer) Commit() (objectstore.Info, error) {
	info, err := w.commit()
	if err != nil {
		return objectstore.Info{}, fmt.Errorf("commit %q: %w", w.key, errors.Join(err, w.Abort()))
	}
	w.finished = true
	return info, nil
}

// commit puts an object that never filled a part with one request, and otherwise completes the upload.
func (w *writer) commit() (objectstore.Info, error) {
	if err := w.usable(); err != nil {
		return objectstore.Info{}, err
	}
	if w.upload == nil {
		return w.store.put(w.ctx, w.key, w.full, w.part, objectstore.Condition{})
	}
	if len(w.part) > 0 {
		w.upload.add(w.part)
		w.part = nil
	}
	return w.upload.complete(w.ctx, w.key, w.size)
}

// Abort discards the written bytes. It works after the end of the writer's context, so that a cancelled
// upload leaves no parts behind.
func (w *writer) Abort() error {
	if w.finished {
		return nil
	}
	w.finished, w.part = true, nil
	if w.upload == nil {
		return nil
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(w.ctx), abortTime)
	defer done()
	if err := w.upload.abort(ctx); err != nil {
		return fmt.Errorf("abort %q: %w", w.key, err)
	}
	return nil
}

// usable returns the error of a finished writer, of its context, or of a failed part.
func (w *writer) usable() error {
	if w.finished {
		return errFinished
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.upload != nil {
		return w.upload.failure()
	}
	return nil
}

// An upload is a multipart upload in progress. If the client computes checksums, each part has a CRC32. S3
// accepts part checksums at completion only if the upload was created with their algorithm, and otherwise
// refuses them (InvalidPart).
type upload struct {
	store *Store
	full  string
	id    *string
	// algorithm of the part checksums; empty for none
	algorithm types.ChecksumAlgorithm
	parts     []*types.CompletedPart // each entry is set when the part has arrived
	group     *errgroup.Group
	stop      context.CancelFunc

	// The next functions are bound to the context of the parts, which the first error of a part ends.
	part    func(request, sender[sums]) (sums, error) // sends a part
	failure func() error                              // the first error; nil while there is none
}

// beginUpload starts an upload. If the answer is lost, an upload without parts is left behind,
// which costs nothing.
func (s *Store) beginUpload(ctx context.Context, full string) (*upload, error) {
	u := &upload{store: s, full: full}
	if s.client.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenSupported {
		u.algorithm = types.ChecksumAlgorithmCrc32
	}
	out, _, err := do(ctx, s, request{"begin upload", full, 0, works}, func(ctx context.Context, _ *attempt) (*s3.CreateMultipartUploadOutput, error) {
		return s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &full, ChecksumAlgorithm: u.algorithm})
	})
	if err != nil {
		return nil, err
	}
	u.id = out.UploadId
	ctx, u.stop = context.WithCancel(ctx)
	u.group, ctx = errgroup.WithContext(ctx)
	u.group.SetLimit(uploads)
	u.failure = func() error { return context.Cause(ctx) }
	u.part = func(r request, send sender[sums]) (sums, error) {
		got, _, err := do(ctx, s, r, send)
		return got, err
	}
	return u, nil
}

// add sends a part, whose bytes must not change afterwards. It blocks while too many other parts are in
// flight. A failure cancels the context, and complete returns it.
func (u *upload) add(data []byte) {
	part := u.next()
	u.group.Go(func() error { return u.send(part, data) })
}

// next adds a part, which is filled in when it has arrived.
func (u *upload) next() *types.CompletedPart {
	part := &types.CompletedPart{PartNumber: aws.Int32(int32(len(u.parts) + 1))}
	u.parts = append(u.parts, part)
	return part
}

// send sends one part, and records its ETag and checksum.
func (u *upload) send(part *types.CompletedPart, data []byte) error {
	s := u.store
	got, err := u.part(request{"put part", u.full, int64(len(data)), writes}, func(ctx context.Context, _ *attempt) (sums, error) {
		out, err := s.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &s.bucket, Key: &u.full, UploadId: u.id, PartNumber: part.PartNumber, Body: bytes.NewReader(data),
		})
		if err != nil {
			return sums{}, err
		}
		return sums{out.ETag, out.ChecksumCRC32}, nil
	})
	return u.arrived(part, got, err)
}

// sums holds the server's confirmation of a part.
type sums struct{ etag, crc32 *string }

// arrived records the confirmation of a part, or returns the error of an unconfirmed one.
func (u *upload) arrived(part *types.CompletedPart, got sums, err error) error {
	if err != nil {
		return fmt.Errorf("part %d: %w", *part.PartNumber, err)
	}
	part.ETag = got.etag
	if u.algorithm != "" {
		part.ChecksumCRC32 = got.crc32
	}
	return nil
}

// complete waits for all parts and completes the upload.
func (u *upload) complete(ctx context.Context, key string, size int64) (objectstore.Info, error) {
	if err := u.group.Wait(); err != nil {
		return objectstore.Info{}, err
	}
	defer u.stop()
	s := u.store
	in := &s3.CompleteMultipartUploadInput{Bucket: &s.bucket, Key: &u.full, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{}}
	for _, part := range u.parts {
		in.MultipartUpload.Parts = append(in.MultipartUpload.Parts, *part)
	}
	return write(ctx, s, request{"complete upload", u.full, size / 50, works}, objectstore.Condition{}, func(ctx context.Context) (objectstore.Info, error) {
		out, err := s.client.CompleteMultipartUpload(ctx, in)
		if err != nil {
			return objectstore.Info{}, err
		}
		return written(key, size, out.ETag, out.ResultMetadata)
	})
}

// abort cancels the parts in flight and deletes the uploaded ones.
func (u *upload) abort(ctx context.Context) error {
	u.stop()
	_ = u.group.Wait() // the results of the parts no longer matter
	s := u.store
	_, _, err := do(ctx, s, request{"abort upload", u.full, 0, works}, func(ctx context.Context, _ *attempt) (*s3.AbortMultipartUploadOutput, error) {
		return s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &u.full, UploadId: u.id})
	})
	if isStatus(err, http.StatusNotFound) {
		return nil // the upload was completed after all, or an earlier attempt aborted it
	}
	return err
}
