// Package idempotency makes a request that is sent twice happen once. Clients send again
// what they got no answer to, and cannot know whether it happened; with both they send the
// same key.
//
// A [Ledger] notes each request before it begins and its answer before that is sent. Who
// comes with a key that is noted gets the answer, also when the request is only just being
// answered elsewhere: it waits. What did not change anything is struck out again, so that
// the next one may try. A process that dies over a request leaves its note behind, which
// runs out; until then nobody knows better than to say that the request is being answered.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/record"
)

var (
	// ErrInFlight says that the same request is being answered, and was not for as long
	// as one waits.
	ErrInFlight = errors.New("the same request is being answered")
	// ErrOtherRequest says that the key was used for another request.
	ErrOtherRequest = errors.New("the key was used for another request")
)

// Retention is how long an answer is remembered.
const Retention = 24 * time.Hour

// A Request is what may be sent twice.
type Request struct {
	Principal string // who sends it: keys are the sender's own
	Operation string
	Object    string // what it works on
	Key       string // that the sender chose
	// Body is a hash of all else that the request says.
	Body [sha256.Size]byte
	// Lease is how long the request may be in the making.
	Lease time.Duration
}

// An Answer is what a request was answered, in the terms of the caller.
type Answer struct {
	Status int             `json:"status"`
	Header json.RawMessage `json:"header,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// A Ledger notes requests and their answers. It is safe for concurrent use.
type Ledger struct {
	records record.Store
	now     func() time.Time
}

// Open returns the ledger that is kept as records.
func Open(records record.Store, now func() time.Time) *Ledger {
	return &Ledger{records: records, now: now}
}

// entry is the value of a record. One without an answer is in the making.
type entry struct {
	Body   string  `json:"body"`
	Answer *Answer `json:"answer,omitempty"`
}

// A Note is a request that the caller has to answer.
type Note struct {
	ledger *Ledger
	record record.Record
	body   string
}

// Begin notes a request. It returns either the answer that the same request was given
// before, or a note, on which the caller ends with Finish or Release. The error is
// ErrInFlight, ErrOtherRequest, or that of the storage.
func (l *Ledger) Begin(ctx context.Context, r Request) (*Answer, *Note, error) {
	key, body := r.recordKey(), hex.EncodeToString(r.Body[:])
	for wait := newWaiting(); ; {
		note, err := l.note(ctx, key, body, r.Lease)
		if !errors.Is(err, record.ErrConflict) {
			return nil, note, err
		}
		answer, err := l.look(ctx, key, body)
		if answer != nil || err != nil {
			return answer, nil, err
		}
		if err := wait.next(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// recordKey hashes what makes a request the same, and spreads the records over folders.
func (r Request) recordKey() string {
	h := sha256.New()
	for _, part := range []string{r.Principal, r.Operation, r.Object, r.Key} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	return folders + sum[:2] + "/" + sum[2:]
}

const folders = "once/"

func (l *Ledger) note(ctx context.Context, key, body string, lease time.Duration) (*Note, error) {
	value, err := json.Marshal(entry{Body: body})
	if err != nil {
		return nil, err
	}
	r := record.Record{Key: key, Value: value, Expires: l.now().Add(lease)}
	if r.Version, err = l.records.Put(ctx, r); err != nil {
		return nil, fmt.Errorf("note a request: %w", err)
	}
	return &Note{ledger: l, record: r, body: body}, nil
}

// look reads what is noted under a key: an answer, or nil while there is none.
func (l *Ledger) look(ctx context.Context, key, body string) (*Answer, error) {
	r, err := l.records.Get(ctx, key)
	if errors.Is(err, record.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a request: %w", err)
	}
	var noted entry
	if err := json.Unmarshal(r.Value, &noted); err != nil {
		return nil, fmt.Errorf("decode record %s: %w", key, err)
	}
	if noted.Body != body {
		return nil, ErrOtherRequest
	}
	return noted.Answer, nil
}

// Finish notes the answer, for all who come with the same request.
func (n *Note) Finish(ctx context.Context, a Answer) error {
	value, err := json.Marshal(entry{Body: n.body, Answer: &a})
	if err != nil {
		return fmt.Errorf("note an answer: %w", err)
	}
	n.record.Value, n.record.Expires = value, n.ledger.now().Add(Retention)
	if _, err = n.ledger.records.Put(ctx, n.record); err != nil {
		return fmt.Errorf("note an answer: %w", err)
	}
	return nil
}

// Release strikes out a request that changed nothing.
func (n *Note) Release(ctx context.Context) error {
	if err := n.ledger.records.Delete(ctx, n.record.Key, n.record.Version); err != nil {
		return fmt.Errorf("strike out a request: %w", err)
	}
	return nil
}

// maxWait is how long a request waits for the answer of the same one.
const maxWait = 20 * time.Second

// waiting is a wait in steps that grow.
type waiting struct{ step, left time.Duration }

func newWaiting() *waiting { return &waiting{step: 50 * time.Millisecond, left: maxWait} }

// next waits for a step, or returns ErrInFlight when that was enough.
func (w *waiting) next(ctx context.Context) error {
	if w.left <= 0 {
		return ErrInFlight
	}
	timer := time.NewTimer(w.step)
	defer timer.Stop()
	select {
	case <-timer.C:
		w.left -= w.step
		w.step = min(2*w.step, time.Second)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
