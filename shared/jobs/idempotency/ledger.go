// Package idempotency makes a request that is sent twice happen once. A client that gets no answer
// sends its request again and cannot know whether the first one took effect.
//
// The words of this package:
//
//   - A ledger holds the requests with a key and their answers. (The ledger of a table, which
//     lists its next versions, is another thing: see package catalog.)
//   - An attempt is one request, which carries an id to the changes that it makes. A further
//     attempt at the same change carries the same id.
//   - A mark is a record that an upload without a key got no answer.
//
// # Requests with a key
//
// Both requests carry the same key. A [Ledger] notes each request before it begins, and its answer
// before that is sent. A second request with the key gets the same answer; if the first is still
// being processed, the second waits. A request that changed nothing is deleted from the ledger, so
// that the next one may try again. The note contains the id under which changes are stored, see
// [Attempt].
//
// A process that dies during a request leaves its note behind, and so does one that cannot find out
// whether a write took effect. When the lease of the note has run out, any process can take the
// note over. It searches the versions made since then for the id, and answers with what was done,
// or does it.
//
// # Uploads without a key
//
// The rows that LanceDB clients add or merge come without a key. A client that gets 409, 429 or
// 5xx, or waits too long, sends the same bytes again under a new request id, after a quarter of a
// second or more. A client whose connection breaks does not.
//
// Noting each upload in advance would cost two writes per upload, for a rare event. Equal bytes
// within seconds do not prove a repetition either, and neither would a digest in the commit before.
// Ten devices may each report that they have started, and a load test adds one batch again and
// again. Losing rows that were acknowledged is worse than storing rows twice. The watermark that
// these clients send (x-lancedb-min-version) does not help, because concurrent writers have the
// same one.
//
// So [Uploads] relies on evidence that the client has no answer, which only the process that serves
// the request has: the client disconnects before the answer, the answer cannot be written, the
// deadline of the request passes, or the answer is that the outcome is unknown. The process then
// leaves a mark before it answers. It does so while the upload is still running, because it may not
// live to the end: a Lambda function is killed soon after its time. A mark is a record that names
// the attempt. Its key consists of principal, operation, table, parameters and a checksum of the
// bytes.
//
// A process that receives the same upload within [Window] takes the mark away, and with the mark
// takes over the change. It searches the versions made since then for the attempt, and answers with
// what was done, or does it under the same id, so that a put which is still under way does no harm.
// A process that left a mark and finishes in time after all may answer only if it can take its mark
// back. So if m of n uploads lose their answers and are repeated, exactly n take effect, no matter
// which process takes which mark. A mark of an attempt that changed nothing does no harm.
//
// Looking for marks costs nothing in the normal case: the record of the table, which all writers
// read anyway, shows whether there may be marks, see [Attempt.Carry] and [Attempt.Recall]. A mark
// that cannot be stored stays in the memory of the process. Load balancers may send one request
// twice, with the same id and the same bytes; both get one answer if they reach the same process.
//
// Two cases remain in which rows are added twice: a process that dies at once between the commit of
// an upload and its answer, and a proxy that replaces our answer by an error. A client that must
// exclude them sends a key.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/record"
)

var (
	// ErrInFlight means that the same request is still being processed after the longest wait.
	ErrInFlight = errors.New("the same request is still being processed")
	// ErrOtherRequest means that another request used the key before.
	ErrOtherRequest = errors.New("the key was used for another request")
)

// Retention is how long the ledger keeps an answer.
const Retention = 24 * time.Hour

// A Request is a request that may be sent twice.
type Request struct {
	Principal string // the sender; each sender has its own keys
	Operation string
	Object    string // the table or namespace that it changes
	Key       string // chosen by the sender
	// Body hashes all contents of the request except the Stream.
	Body [sha256.Size]byte
	// Stream is the streamed part of the request, or nil if Body covers everything. The request's
	// handler reads it from here, to its end.
	Stream *Digest
	// Lease is the longest time that the request may take.
	Lease time.Duration
}

// An Answer is the answer to a request, encoded by the caller.
type Answer struct {
	Status int             `json:"status"`
	Header json.RawMessage `json:"header,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// A Ledger holds requests and their answers. It is safe for concurrent use.
type Ledger struct {
	records record.Store
	now     func() time.Time
}

// Open returns the ledger in a record store.
func Open(records record.Store, now func() time.Time) *Ledger {
	return &Ledger{records: records, now: now}
}

// entry is the JSON value of a record. Answer is nil while the request runs, and after its process
// died.
type entry struct {
	Body    string    `json:"body"`
	Stream  string    `json:"stream,omitempty"`  // checksum of the request's stream
	Attempt string    `json:"attempt,omitempty"` // the id of the attempt
	Began   time.Time `json:"began,omitzero"`
	Until   time.Time `json:"until,omitzero"` // the end of the lease
	Answer  *Answer   `json:"answer,omitempty"`
}

// A Note is the ledger entry of a request that the caller has to process.
type Note struct {
	ledger  *Ledger
	record  record.Record
	entry   entry
	attempt *Attempt
	stream  *Digest // of the request; may be nil
}

// Attempt returns the attempt under which the changes of the request are stored.
func (n *Note) Attempt() *Attempt { return n.attempt }

// Begin notes a request. It returns either the answer of an earlier request with the same key, or a
// note, which the caller ends with Finish or Failed. It waits while the earlier request runs. The
// error is ErrInFlight, ErrOtherRequest, or an error of the storage.
func (l *Ledger) Begin(ctx context.Context, r Request) (*Answer, *Note, error) {
	key, body := r.recordKey(), hex.EncodeToString(r.Body[:])
	for wait := newWaiting(); ; {
		mine, noted := l.note(ctx, key, body, r)
		unsure := errors.Is(noted, record.ErrUnknownOutcome)
		switch {
		case noted == nil:
			return nil, mine, nil
		case !unsure && !errors.Is(noted, record.ErrConflict):
			return nil, nil, noted
		}
		note, err := l.look(ctx, key, body, r.Stream)
		switch {
		case err != nil:
			return nil, nil, err
		case note == nil && unsure: // it may still be written
			return nil, nil, noted
		case note == nil:
		case note.entry.Attempt == mine.entry.Attempt: // the answer to its write was lost
			return nil, note, nil
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

// recordKey hashes the fields that identify a request. The first two digits of the hash form a
// folder, which spreads the records.
func (r Request) recordKey() string {
	h := sha256.New()
	for _, part := range []string{r.Principal, r.Operation, r.Object, r.Key} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	return folders + sum[:2] + "/" + sum[2:]
}

const folders = "once/"

// note writes the note of a new attempt. With an error it also returns the note, whose write may
// have succeeded.
func (l *Ledger) note(ctx context.Context, key, body string, r Request) (*Note, error) {
	n := &Note{ledger: l, record: record.Record{Key: key}, attempt: newAttempt(), stream: r.Stream}
	n.attempt.stream = r.Stream
	now := l.now()
	n.entry = entry{Body: body, Attempt: n.attempt.id, Began: now, Until: now.Add(r.Lease)}
	if err := n.write(ctx); err != nil {
		return n, fmt.Errorf("note a request: %w", err)
	}
	return n, nil
}

// look reads the note of a key; nil means that there is none. The error is ErrOtherRequest if the
// note has another body.
func (l *Ledger) look(ctx context.Context, key, body string, stream *Digest) (*Note, error) {
	r, err := l.records.Get(ctx, key)
	if errors.Is(err, record.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for a request: %w", err)
	}
	n := &Note{ledger: l, record: r, attempt: &Attempt{stream: stream}, stream: stream}
	if err := r.Decode(&n.entry); err != nil {
		return nil, err
	}
	// The same key with other contents is an error of the client.
	if n.entry.Body != body {
		return nil, ErrOtherRequest
	}
	// The caller continues the earlier attempt, under its id.
	n.attempt.resume(n.entry.Attempt, n.entry.Began)
	return n, nil
}

// lapsed reports whether the lease of the note has run out.
func (n *Note) lapsed() bool { return !n.ledger.now().Before(n.entry.Until) }

// takeOver renews the lease of a lapsed note for this request. The error is record.ErrConflict if
// another process was faster.
func (n *Note) takeOver(ctx context.Context, lease time.Duration) error {
	n.entry.Until = n.ledger.now().Add(lease)
	if err := n.write(ctx); err != nil {
		return fmt.Errorf("take a request over: %w", err)
	}
	return nil
}

// write stores the entry if the record is unchanged since the note was read.
func (n *Note) write(ctx context.Context) error {
	value, err := json.Marshal(n.entry)
	if err != nil {
		return err
	}
	n.record.Value, n.record.Expires = value, n.ledger.now().Add(Retention)
	n.record.Version, err = n.ledger.records.Put(ctx, n.record)
	return err
}

// Finish stores the answer in the note. The stream of the request must have been read to its end.
func (n *Note) Finish(ctx context.Context, a Answer) error {
	n.entry.Answer, n.entry.Stream = &a, n.stream.known()
	if err := n.write(ctx); err != nil {
		return fmt.Errorf("note an answer: %w", err)
	}
	return nil
}

// Failed ends a request whose answer is not kept. If the request changed nothing, its note is
// deleted. If unsettled is true, a change may have been made: the note stays, and the next request
// with the key searches for the change by its id. The result is false if the change has no id, so
// that no later request could find it.
func (n *Note) Failed(ctx context.Context, unsettled bool) (bool, error) {
	switch {
	case unsettled && !n.attempt.resumable():
		return false, nil
	// Let the next request take the note over at once.
	case unsettled || n.attempt.again():
		n.entry.Until = n.ledger.now()
		if n.entry.Stream == "" {
			n.entry.Stream = n.stream.known()
		}
		if err := n.write(ctx); err != nil {
			return true, fmt.Errorf("release the note of a request: %w", err)
		}
		return true, nil
	}
	if err := n.ledger.records.Delete(ctx, n.record.Key, n.record.Version); err != nil {
		return true, fmt.Errorf("delete the note of a request: %w", err)
	}
	return true, nil
}

// maxWait is how long a request waits for the answer to the same request.
const maxWait = 20 * time.Second

// waiting waits in growing steps, up to a total time.
type waiting struct{ step, left time.Duration }

func newWaiting() *waiting { return &waiting{step: 50 * time.Millisecond, left: maxWait} }

// next waits for one step. It returns ErrInFlight when the total time has passed.
func (w *waiting) next(ctx context.Context) error {
	if w.left <= 0 {
		return ErrInFlight
	}
	if err := backoff.Sleep(ctx, w.step); err != nil {
		return err
	}
	w.left -= w.step
	w.step = min(2*w.step, time.Second)
	return nil
}
