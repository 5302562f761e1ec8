package secretbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"
)

const (
	// keepFor is how long a decrypted value is cached.
	keepFor = 5 * time.Minute
	// mostKept bounds the values that are kept at a time.
	mostKept = 64
)

// Keep returns an Opener that opens each sealed value once in five minutes, so that the many parts of a job do not
// each ask for its secrets. A value that was sealed anew is another one. Errors are not kept.
func Keep(from Opener) Opener { return &keeper{from: from, values: map[[sha256.Size]byte]*keptValue{}} }

type keeper struct {
	from   Opener
	mu     sync.Mutex
	values map[[sha256.Size]byte]*keptValue
}

// A keptValue is opened by one caller at a time.
type keptValue struct {
	turn  chan struct{} // has an element while a caller has its turn
	value []byte
	until time.Time
}

// Open implements Opener.
func (k *keeper) Open(ctx context.Context, id []string, sealed Sealed) ([]byte, error) {
	name, err := json.Marshal(struct {
		ID     []string
		Sealed Sealed
	}{id, sealed})
	if err != nil {
		return nil, err
	}
	v := k.find(sha256.Sum256(name))
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if time.Now().Before(v.until) {
		return bytes.Clone(v.value), nil
	}
	value, err := k.from.Open(ctx, id, sealed)
	if err != nil {
		return nil, err
	}
	v.value, v.until = bytes.Clone(value), time.Now().Add(keepFor)
	return value, nil
}

// find returns the value with a name, which need not be open.
func (k *keeper) find(name [sha256.Size]byte) *keptValue {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.values[name]
	if v == nil {
		if len(k.values) == mostKept { // callers that have a cached value keep using it
			clear(k.values)
		}
		v = &keptValue{turn: make(chan struct{}, 1)}
		k.values[name] = v
	}
	return v
}
