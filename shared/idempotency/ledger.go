// Package idempotency makes a request that is sent twice happen once. Clients send again
// what they got no answer to, and cannot know whether it happened.
//
// # Requests with a key
//
// With both sendings comes the same key. A [Ledger] notes each request before it begins and
// its answer before that is sent. Who comes with a key that is noted gets the answer, also
// when the request is only just being answered elsewhere: it waits. What did not change
// anything is struck out again, so that the next one may try. With the note goes the id
// under which changes are stored, see [Attempt]. A process that dies over a request leaves
// its note behind, as does one that could not learn what became of a write; when its lease
// has run out any process takes the note over, looks among the versions made since for that
// id, and answers what was done or does it.
//
// # Uploads without a key
//
// The rows that LanceDB clients add or merge come without a key. A client that is told 409,
// 429 or 5xx, or waits too long, sends the same bytes again under a new request id, after a
// quarter of a second or more; one whose connection breaks does not send again. To note each
// upload before it begins would cost every one of them two writes, for what hardly ever
// happens. And the same bytes within seconds are no proof, nor would be a digest of them in
// the commit before: ten devices may each report that they have started, a load test adds one
// batch again and again, and rows that were acknowledged and are not there are worse than
// rows that are there twice. The watermark that these clients send with a request
// (x-lancedb-min-version) does not tell either: writers side by side have the same.
//
// So [Uploads] goes by evidence that the sender has no answer, which only the process that
// works for it has: it sees the client go before the answer is out, or the writing of the
// answer fail, or the time of the request run out, or has to answer that the outcome is
// unknown. It then leaves a mark, before it answers, and while it is still at work, because
// it may not live to the end: a Lambda function is ended soon after its time. The mark is a
// record that names the attempt, found by principal, operation, table, parameters and a
// checksum of the bytes. Whichever process is sent the same within [Window] takes the mark
// away, and by that the change becomes its own: it looks among the versions made since for
// that attempt, and answers what was done or does it, under the same id, so that a put which
// is still on its way does no harm. Who left the mark and was in time after all may only
// answer when he can take it back. So of n uploads with m answers lost just n take place,
// whoever takes the marks. A mark of an attempt that made nothing does no harm.
//
// To look for marks costs nothing where nothing goes wrong: that there may be some is told by
// the record of the table, which all who write to it read anyway, see [Attempt.Carry] and
// [Attempt.Recall]. A mark that cannot be stored is kept in the memory of the process. And
// when one request comes twice by itself, same id and same bytes, as balancers that send again
// or hedge do, both get one answer if they come to the same process.
//
// What this does not catch, because nobody is left who knows: a process that dies at once
// between the commit of an upload and its answer, and a proxy that takes our answer and gives
// another. Who must not add rows twice even then sends a key.
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
	// Body is a hash of all else that the request says, but for the Stream.
	Body [sha256.Size]byte
	// Stream is the rest of what the request says, which is not known before it has been read;
	// nil when Body is all. Whoever serves the request reads it from here, to its end.
	Stream *Digest
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

// entry is the value of a record. One without an answer is in the making, or was.
type entry struct {
	Body    string    `json:"body"`
	Stream  string    `json:"stream,omitempty"`  // that the answer is for, or that was begun with
	Attempt string    `json:"attempt,omitempty"` // id of its changes
	Began   time.Time `json:"began,omitzero"`
	Until   time.Time `json:"until,omitzero"` // when its lease runs out
	Answer  *Answer   `json:"answer,omitempty"`
}

// A Note is a request that the caller has to answer.
type Note struct {
	ledger  *Ledger
	record  record.Record
	entry   entry
	attempt *Attempt
	stream  *Digest // of the request; may be nil
}

// Attempt returns what the request's changes are to be stored under.
func (n *Note) Attempt() *Attempt { return n.attempt }

// Begin notes a request. It returns either the answer that the same request was given
// before, or a note, which the caller ends with Finish or Failed. The error is
// ErrInFlight, ErrOtherRequest, or that of the storage.
func (l *Ledger) Begin(ctx context.Context, r Request) (*Answer, *Note, error) {
	key, body := r.recordKey(), hex.EncodeToString(r.Body[:])
	for wait := newWaiting(); ; {
		note, err := l.note(ctx, key, body, r)
		if !errors.Is(err, record.ErrConflict) {
			return nil, note, err
		}
		note, err = l.look(ctx, key, body, r.Stream)
		switch {
		case err != nil:
			return nil, nil, err
		case note == nil:
		case note.entry.Answer != nil:
			if err := r.Stream.check(note.entry.Stream); err != nil {
				return nil, nil, err
			}
			return note.entry.Answer, nil, nil
		case note.lapsed():
			if err := note.takeOver(ctx, r.Lease); !errors.Is(err, record.ErrConflict) {
				r.Stream.expect(note.entry.Stream)
				return nil, note, err
			}
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

func (l *Ledger) note(ctx context.Context, key, body string, r Request) (*Note, error) {
	n := &Note{ledger: l, record: record.Record{Key: key}, attempt: newAttempt(), stream: r.Stream}
	n.attempt.stream = r.Stream
	now := l.now()
	n.entry = entry{Body: body, Attempt: n.attempt.id, Began: now, Until: now.Add(r.Lease)}
	if err := n.write(ctx); err != nil {
		return nil, fmt.Errorf("note a request: %w", err)
	}
	return n, nil
}

// look reads what is noted under a key; nil when there is nothing.
func (l *Ledger) look(ctx context.Context, key, body string, stream *Digest) (*Note, error) {
	r, err := l.records.Get(ctx, key)
	if errors.Is(err, record.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a request: %w", err)
	}
	n := &Note{ledger: l, record: r, attempt: &Attempt{stream: stream}, stream: stream}
	if err := json.Unmarshal(r.Value, &n.entry); err != nil {
		return nil, fmt.Errorf("decode record %s: %w", key, err)
	}
	if n.entry.Body != body {
		return nil, ErrOtherRequest
	}
	n.attempt.resume(n.entry.Attempt, n.entry.Began)
	return n, nil
}

// lapsed says whether nobody works on the request any more.
func (n *Note) lapsed() bool { return !n.ledger.now().Before(n.entry.Until) }

// takeOver makes the note the caller's. record.ErrConflict says that somebody else has it.
func (n *Note) takeOver(ctx context.Context, lease time.Duration) error {
	n.entry.Until = n.ledger.now().Add(lease)
	if err := n.write(ctx); err != nil {
		return fmt.Errorf("take a request over: %w", err)
	}
	return nil
}

func (n *Note) write(ctx context.Context) error {
	value, err := json.Marshal(n.entry)
	if err != nil {
		return err
	}
	n.record.Value, n.record.Expires = value, n.ledger.now().Add(Retention)
	n.record.Version, err = n.ledger.records.Put(ctx, n.record)
	return err
}

// Finish notes the answer, for all who come with the same request, whose stream has been read.
func (n *Note) Finish(ctx context.Context, a Answer) error {
	n.entry.Answer, n.entry.Stream = &a, n.stream.known()
	if err := n.write(ctx); err != nil {
		return fmt.Errorf("note an answer: %w", err)
	}
	return nil
}

// Failed ends a request without an answer that would be worth to be remembered. One that
// changed nothing is struck out. When it is unsettled whether it did, it is left to the next
// one that comes with it, who will know its changes by their id; false says that they have
// none, so that nobody could.
func (n *Note) Failed(ctx context.Context, unsettled bool) (bool, error) {
	switch {
	case unsettled && !n.attempt.resumable():
		return false, nil
	case unsettled || n.attempt.again():
		n.entry.Until = n.ledger.now()
		if n.entry.Stream == "" {
			n.entry.Stream = n.stream.known()
		}
		if err := n.write(ctx); err != nil {
			return true, fmt.Errorf("leave a request: %w", err)
		}
		return true, nil
	}
	if err := n.ledger.records.Delete(ctx, n.record.Key, n.record.Version); err != nil {
		return true, fmt.Errorf("strike out a request: %w", err)
	}
	return true, nil
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
	if err := pause(ctx, w.step); err != nil {
		return err
	}
	w.left -= w.step
	w.step = min(2*w.step, time.Second)
	return nil
}

// pause waits, or returns why it did not.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
