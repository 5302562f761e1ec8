package lambdaexec

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A passage transports data too large for events and responses, as objects below a folder of a store. They
// are removed after the call; the owner of the folder sweeps the objects of crashed workers.
type passage struct {
	store  objectstore.Store
	folder string
}

const (
	// referenceBytes bounds the size of an event without the call and the rows, mostly its URLs.
	referenceBytes = 16 << 10
	// margin is added to the lifetime of a URL, for clock skew and queued events.
	margin = 5 * time.Minute
	// removal is the timeout of the removal of an object.
	removal = 10 * time.Second
)

// works reports whether the store signs URLs.
func (p passage) works() bool { return p.store != nil && objectstore.SignerOf(p.store) != nil }

// put stores an object of a new name.
func (p passage) put(ctx context.Context, data []byte) (key string, err error) {
	key = p.folder + rand.Text()
	if _, err := p.store.Put(ctx, key, data, objectstore.Condition{IfAbsent: true}); err != nil {
		return "", fmt.Errorf("pass %d bytes to an executor: %w", len(data), err)
	}
	return key, nil
}

// remove removes an object, even if the context of the call has ended.
func (p passage) remove(key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	return p.store.Delete(ctx, key, objectstore.Condition{})
}

// take returns an object that an executor has put, and removes it.
func (p passage) take(ctx context.Context, key string, limit int64) (*executor.Bytes, error) {
	defer func() { _ = p.remove(key) }() // a sweep removes it otherwise
	_, info, err := p.store.GetRanges(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read the reply of an executor: %w", err)
	}
	if info.Size > limit {
		return nil, &executor.Fault{Type: executor.TooLarge, Message: fmt.Sprintf("the reply is larger than %d bytes", limit)}
	}
	held, err := memory.Take(ctx, info.Size) // in addition to the copy that is returned
	if err != nil {
		return nil, err
	}
	defer held.Release()
	parts, _, err := p.store.GetRanges(ctx, key, objectstore.Range{Length: info.Size})
	if err != nil {
		return nil, fmt.Errorf("read the reply of an executor: %w", err)
	}
	return executor.KeepReply(ctx, parts[0], limit)
}

// refer moves data that exceed an event to objects, and adds a signed URL for the reply. reply is the key
// of the reply, and remove removes the object of the rows.
func (l *line) refer(ctx context.Context, e *event, room int64) (reply string, remove func(), err error) {
	signer := objectstore.SignerOf(l.passed.store)
	lasts := time.Duration(e.Call.Milliseconds)*time.Millisecond + margin
	if len(e.Call.Artifact) > maxInlineArtifact {
		if l.artifact == "" {
			if l.artifact, err = l.passed.put(ctx, e.Call.Artifact); err != nil {
				return "", nil, err
			}
		}
		call := *e.Call
		call.Artifact = nil
		if call.ArtifactURL, err = signer.SignGet(ctx, l.artifact, "", lasts); err != nil {
			return "", nil, err
		}
		e.Call = &call
	}
	reply = l.passed.folder + rand.Text()
	if e.ReplyURL, err = signer.SignPut(ctx, reply, lasts); err != nil {
		return "", nil, err
	}
	if int64(len(e.Arrow)) <= room {
		return reply, func() {}, nil
	}
	rows, err := l.passed.put(ctx, e.Arrow)
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = l.passed.remove(rows) } // a sweep does otherwise
	e.Arrow = nil
	if e.ArrowURL, err = signer.SignGet(ctx, rows, "", lasts); err != nil {
		remove()
		return "", nil, err
	}
	return reply, remove, nil
}
