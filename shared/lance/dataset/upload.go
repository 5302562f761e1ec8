package dataset

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
)

// An upload is a file on its way to the store: a small one in one request once it is
// complete, a large one streamed.
type upload struct {
	ctx    context.Context //nolint:containedctx // an io.Writer of one request
	store  objectstore.Store
	key    string
	buffer *bytes.Buffer      // nil before the first write, and once streamed
	stream objectstore.Writer // nil while small
	room   memory.Hold        // for the buffer, or for what the stream keeps

	buffers *sync.Pool // of *bytes.Buffer: fresh memory costs more than what goes into it
}

func (t *Table) newUpload(ctx context.Context, key string) *upload {
	return &upload{ctx: ctx, store: t.store, key: key, buffers: &t.session.buffers}
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	if u.stream != nil {
		return u.stream.Write(p)
	}
	if u.buffer == nil {
		u.buffer = u.newBuffer()
	}
	if u.buffer.Len()+len(p) <= maxBufferedFile {
		switch fits, err := u.reserve(len(p)); {
		case err != nil:
			return 0, err
		case fits:
			return u.buffer.Write(p)
		}
	}
	if err := u.begin(); err != nil {
		return 0, err
	}
	return u.stream.Write(p)
}

// newBuffer returns an empty buffer, used before if there is memory for it.
func (u *upload) newBuffer() *bytes.Buffer {
	used, _ := u.buffers.Get().(*bytes.Buffer)
	if used == nil || !u.room.TryResize(u.ctx, int64(used.Cap())) {
		return new(bytes.Buffer)
	}
	return used
}

// reserve takes the memory to add so many bytes to the buffer. When others hold it, it is
// better to stream to a store that is near; what goes over a network is held either way.
func (u *upload) reserve(more int) (bool, error) {
	need := u.buffer.Len() + more
	if need <= u.buffer.Cap() {
		return true, nil
	}
	both := int64(max(need, 2*u.buffer.Cap()) + u.buffer.Cap()) // the buffer is copied as it grows
	if !u.room.TryResize(u.ctx, both) {
		if objectstore.Near(u.store) {
			return false, nil
		}
		if err := u.room.Resize(u.ctx, both); err != nil {
			return false, err
		}
	}
	u.buffer.Grow(more)
	return true, u.room.Resize(u.ctx, int64(u.buffer.Cap()))
}

// streamBytes is how much of a stream over a network is held until it has been sent.
const streamBytes = 40 << 20

// begin begins to stream, with what is in the buffer.
func (u *upload) begin() error {
	var room memory.Hold
	if !objectstore.Near(u.store) {
		var err error
		if room, err = memory.Take(u.ctx, streamBytes); err != nil {
			return err
		}
	}
	stream, err := u.store.Create(u.ctx, u.key)
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
	u.buffers.Put(u.buffer)
	u.buffer = nil
	u.room.Release()
}

// finish makes the file durable: at once when it was streamed, else with puts.
func (u *upload) finish(puts *errgroup.Group) error {
	if u.stream != nil {
		defer u.room.Release()
		_, err := u.stream.Commit()
		return err
	}
	puts.Go(func() error {
		defer u.release()
		_, err := u.store.Put(u.ctx, u.key, u.buffer.Bytes(), objectstore.Condition{})
		if err != nil {
			return fmt.Errorf("write %s: %w", u.key, err)
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
