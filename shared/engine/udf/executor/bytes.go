package executor

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tiltyard/shared/process/memory"
)

// Bytes contains the stream of a call or reply, and charges it to the memory of a context. The zero
// value is not usable.
type Bytes struct {
	Data  []byte
	held  memory.Hold
	take  func(bytes int64) error
	what  string // "call" or "reply"
	limit int64
}

func newBytes(ctx context.Context, what string, limit int64) *Bytes {
	b := &Bytes{what: what, limit: limit}
	b.take = func(bytes int64) error { return b.held.Resize(ctx, bytes) }
	return b
}

// Release drops the data and releases its memory.
func (b *Bytes) Release() {
	b.Data = nil
	b.held.Release()
}

// Write appends p, within the limit.
func (b *Bytes) Write(p []byte) (int, error) {
	if err := b.grow(len(p)); err != nil {
		return 0, err
	}
	b.Data = append(b.Data, p...)
	return len(p), nil
}

// grow makes room for more bytes.
func (b *Bytes) grow(more int) error {
	size := len(b.Data) + more
	if int64(size) > b.limit {
		return &Fault{Type: TooLarge, Message: fmt.Sprintf("the %s is larger than %d bytes", b.what, b.limit)}
	}
	if size <= cap(b.Data) {
		return nil
	}
	larger := max(size, min(2*cap(b.Data), int(b.limit)))
	if err := b.take(int64(larger)); err != nil {
		return err
	}
	b.Data = append(make([]byte, 0, larger), b.Data...)
	return nil
}

// KeepReply returns a copy of a reply.
func KeepReply(ctx context.Context, data []byte, limit int64) (*Bytes, error) {
	b := newBytes(ctx, "reply", limit)
	_, err := b.Write(data)
	return b, err
}

// ReadReply reads a reply to its end. A reply longer than limit is a Fault of type TooLarge, a truncated
// one a Fault of type Unreachable.
func ReadReply(ctx context.Context, r io.Reader, limit int64) (*Bytes, error) {
	b := newBytes(ctx, "reply", limit)
	for piece := make([]byte, 32<<10); ; {
		n, err := r.Read(piece)
		if _, wrong := b.Write(piece[:n]); wrong != nil {
			b.Release()
			return nil, wrong
		}
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			b.Release()
			return nil, &Fault{Type: Unreachable, Message: "the reply broke off", Retryable: true, Lost: true, Err: err}
		}
	}
}
