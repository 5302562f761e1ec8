package lambdaexec

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"tiltyard/shared/function/executor"
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
)

// A passage passes what events and responses cannot carry, by way of objects below a folder of a store. They
// are removed after the call; the owner of the folder sweeps those of a worker that ended before.
type passage struct {
	store  objectstore.Store
	folder string
}

const (
	// referenceBytes bounds what an event has beside the call and the rows: its URLs, most of all.
	referenceBytes = 16 << 10
	// margin is how much longer than a call a URL lasts, for clocks that differ and an event that waits.
	margin = 5 * time.Minute
	// removal is how long the removal of an object may take.
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

// remove removes an object, also when the call was ended.
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
	held, err := memory.Take(ctx, info.Size) // beside the copy that remains
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

// refer replaces what an event cannot carry by URLs, and gives it one for the reply. reply is the key of that,
// and remove removes the rows.
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
