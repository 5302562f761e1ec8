package stage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
)

// A Place is where the new files of a table go.
type Place struct {
	Store   objectstore.Store
	Prefix  string // of all keys of the table, without a slash at its end
	Buffers *Buffers

	// Written is called for each new data file that was one request, with its key and bytes, when the
	// file is durable. The bytes are used again afterwards. Several files may be written side by side.
	// It may be nil.
	Written func(key string, file []byte)
}

// Buffers are empty buffers for small files: fresh memory costs more than to fill it. The zero
// value is ready for use.
type Buffers struct{ pool sync.Pool }

// An upload is a file on its way to the store. A small one is one request, once it is complete; a
// large one is streamed.
type upload struct {
	store  objectstore.Store
	key    string
	buffer *bytes.Buffer      // nil before the first write, and once streamed
	stream objectstore.Writer // nil while small
	room   memory.Hold        // for the buffer, or for what the stream keeps
	pool   *sync.Pool         // of *bytes.Buffer

	written func(key string, file []byte) // of the place, for a data file
}

func (p Place) newUpload(key string) *upload {
	return &upload{store: p.Store, key: key, pool: &p.Buffers.pool}
}

// writer returns the upload as a writer for the time of the context.
func (u *upload) writer(ctx context.Context) io.Writer {
	return writerFunc(func(p []byte) (int, error) { return u.write(ctx, p) })
}

// A writerFunc is the Write of an io.Writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

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

// newBuffer returns an empty buffer, one that was used before if there is memory for it.
func (u *upload) newBuffer(ctx context.Context) *bytes.Buffer {
	used, _ := u.pool.Get().(*bytes.Buffer)
	if used == nil || !u.room.TryResize(ctx, int64(used.Cap())) {
		return new(bytes.Buffer)
	}
	return used
}

// reserve takes the memory to add so many bytes to the buffer. When other requests hold that
// memory, it is better to stream to a store that is near; what goes over a network is held in
// either case.
func (u *upload) reserve(ctx context.Context, more int) (bool, error) {
	need := u.buffer.Len() + more
	if need <= u.buffer.Cap() {
		return true, nil
	}
	both := int64(max(need, 2*u.buffer.Cap()) + u.buffer.Cap()) // the buffer is copied as it grows
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

// streamBytes is the part of a stream over a network that is held until it has been sent.
const streamBytes = 40 << 20

// begin begins to stream, with the bytes in the buffer.
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

// release gives the buffer back.
func (u *upload) release() {
	u.buffer.Reset()
	u.pool.Put(u.buffer)
	u.buffer = nil
	u.room.Release()
}

// finish makes the file durable: at once when it was streamed, else in a goroutine of puts.
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

func (u *upload) abort() {
	u.room.Release()
	if u.stream != nil {
		u.stream.Abort() //nolint:errcheck // the file is garbage either way
	}
}
