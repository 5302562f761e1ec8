package stage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A Place is the destination of a table's new files.
type Place struct {
	Store   objectstore.Store
	Prefix  string // key prefix of the table, without a trailing slash
	Buffers *Buffers

	// Written is called when a data file that was uploaded by one request is durable, with its key
	// and bytes. The bytes are reused afterwards. It may be called concurrently, and may be nil.
	Written func(key string, file []byte)
}

// Buffers recycles buffers for small files, because allocating fresh memory costs more than filling
// it. The zero value is ready for use.
type Buffers struct{ pool sync.Pool }

// An upload sends a file to the store: a small one by a single request once it is complete, a large
// one as a stream.
type upload struct {
	store  objectstore.Store
	key    string
	buffer *bytes.Buffer      // nil before the first write and when streaming
	stream objectstore.Writer // nil while small
	room   memory.Hold        // memory of the buffer or of the stream
	pool   *sync.Pool         // of *bytes.Buffer

	written func(key string, file []byte) // see Place.Written; only for data files
}

func (p Place) newUpload(key string) *upload {
	return &upload{store: p.Store, key: key, pool: &p.Buffers.pool}
}

// writer returns the upload as a writer bound to the context.
func (u *upload) writer(ctx context.Context) io.Writer {
	return writerFunc(func(p []byte) (int, error) { return u.write(ctx, p) })
}

// A writerFunc implements io.Writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// write buffers bytes up to maxBufferedFile and then starts to stream.
func (u *upload) write(ctx context.Context, p []byte) (int, error) {
	if u.stream != nil {
		return u.stream.Write(p)
	}
	if u.buffer == nil {
		u.buffer = u.newBuffer(ctx)
	}
	if u.buffer.Len()+len(p) <= maxBufferedFile {
		switch fits, err := u.reserve(ctx, len(p)); {
		case err != nil:
			return 0, err
		case fits:
			return u.buffer.Write(p)
		}
	}
	if err := u.begin(ctx); err != nil {
		return 0, err
	}
	return u.stream.Write(p)
}

// newBuffer returns an empty buffer, a recycled one if memory allows its size.
func (u *upload) newBuffer(ctx context.Context) *bytes.Buffer {
	used, _ := u.pool.Get().(*bytes.Buffer)
	if used == nil || !u.room.TryResize(ctx, int64(used.Cap())) {
		return new(bytes.Buffer)
	}
	return used
}

// reserve reserves memory for more bytes in the buffer. If memory is short, it returns false for
// local storage, where streaming needs none. For remote storage it waits, because a stream would
// hold as much.
func (u *upload) reserve(ctx context.Context, more int) (bool, error) {
	need := u.buffer.Len() + more
	if need <= u.buffer.Cap() {
		return true, nil
	}
	both := int64(max(need, 2*u.buffer.Cap()) + u.buffer.Cap()) // the old and the new buffer, during the copy
	if !u.room.TryResize(ctx, both) {
		if objectstore.Near(u.store) {
			return false, nil
		}
		if err := u.room.Resize(ctx, both); err != nil {
			return false, err
		}
	}
	u.buffer.Grow(more)
	return true, u.room.Resize(ctx, int64(u.buffer.Cap()))
}

// streamBytes is the memory of a stream to remote storage.
const streamBytes = 40 << 20

// begin starts streaming with the bytes in the buffer.
func (u *upload) begin(ctx context.Context) error {
	var room memory.Hold
	if !objectstore.Near(u.store) {
		var err error
		if room, err = memory.Take(ctx, streamBytes); err != nil {
			return err
		}
	}
	stream, err := u.store.Create(ctx, u.key)
	if err != nil {
		room.Release()
		return err
	}
	u.stream = stream
	_, err = u.stream.Write(u.buffer.Bytes())
	u.release()
	u.room = room
	return err
}

// release recycles the buffer.
func (u *upload) release() {
	u.buffer.Reset()
	u.pool.Put(u.buffer)
	u.buffer = nil
	u.room.Release()
}

// finish makes the file durable: at once if it is streamed, otherwise in a goroutine of puts.
func (u *upload) finish(ctx context.Context, puts *errgroup.Group) error {
	if u.stream != nil {
		defer u.room.Release()
		_, err := u.stream.Commit()
		return err
	}
	puts.Go(func() error {
		defer u.release()
		_, err := u.store.Put(ctx, u.key, u.buffer.Bytes(), objectstore.Condition{})
		if err != nil {
			return fmt.Errorf("write %s: %w", u.key, err)
		}
		if u.written != nil {
			u.written(u.key, u.buffer.Bytes())
		}
		return nil
	})
	return nil
}

// abort releases the memory and ends a stream without an object.
func (u *upload) abort() {
	u.room.Release()
	if u.stream != nil {
		u.stream.Abort() //nolint:errcheck // the file stays unreferenced either way
	}
}
