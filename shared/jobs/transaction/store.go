package transaction

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"tiltyard/shared/process/backoff"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/record"
)

// Retention is how long the record of a job is kept after its end.
const Retention = 30 * 24 * time.Hour

// A Store reads and writes the records of transactions. It is safe for concurrent use. Its errors
// are protocol errors.
type Store struct {
	records record.Store
	now     func() time.Time
	ended   func(ctx context.Context, job *Transaction) // may be nil; see WatchEnds
}

// Open returns the transactions in a record store.
func Open(records record.Store, now func() time.Time) *Store {
	return &Store{records: records, now: now}
}

// WatchEnds sets a function that is called once a job has ended. It is not called if the process dies first. WatchEnds
// must be called before the store is used.
func (s *Store) WatchEnds(ended func(ctx context.Context, job *Transaction)) { s.ended = ended }

// Begin creates the record of a queued job. kind names its work on the object.
func (s *Store) Begin(ctx context.Context, kind string, object []string) (*Transaction, error) {
	return s.begin(ctx, &Transaction{Kind: kind, Object: object})
}

// begin creates the record of a job. Its status is queued unless t sets another one.
func (s *Store) begin(ctx context.Context, t *Transaction) (*Transaction, error) {
	now := s.now().UTC()
	t.ID, t.Status, t.Created, t.Updated = newJobID(now), cmp.Or(t.Status, transactionapi.Queued), now, now
	t.observe(nil, now)
	ref := Ref{Unit: Unit{Job: t.ID}}
	if _, err := s.write(ctx, ref, t, "", time.Time{}); err != nil {
		return nil, s.translate(ref, err)
	}
	return t, nil
}

// IDOfCommit returns the id of the transaction of a commit with a known branch, version and UUID.
// It writes a record only if the table's name is too long for an id (see [CommitID]). It never
// fails, because the commit has been made: if that write fails, the id is "".
func (s *Store) IDOfCommit(ctx context.Context, table []string, commit Commit) string {
	if id, ok := CommitID(table, commit); ok || commit.UUID == "" {
		return id
	}
	t := OfCommit(table, commit)
	t.Created = s.now().UTC()
	t.Updated = t.Created
	ref := Ref{Table: table, UUID: commit.UUID}.recorded()
	if _, err := s.write(ctx, ref, t, "", t.Created.Add(Retention)); err != nil {
		return ""
	}
	return ref.id()
}

// Get returns the transaction of a record.
func (s *Store) Get(ctx context.Context, ref Ref) (*Transaction, error) {
	t, _, err := s.read(ctx, ref)
	if err != nil {
		return nil, s.translate(ref, err)
	}
	return t, nil
}

// GetCommit returns the recorded transaction of a commit with a known UUID, or nil if it has no
// record.
func (s *Store) GetCommit(ctx context.Context, ref Ref) (*Transaction, error) {
	return s.getIfAny(ctx, ref.recorded())
}

// getIfAny returns the transaction of a record, or nil if there is none.
func (s *Store) getIfAny(ctx context.Context, ref Ref) (*Transaction, error) {
	t, _, err := s.read(ctx, ref)
	if errors.Is(err, record.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.translate(ref, err)
	}
	return t, nil
}

// Alter applies a user's actions, all or none, and returns the transaction as it is afterwards. Any
// status may follow any other.
func (s *Store) Alter(ctx context.Context, ref Ref, actions []transactionapi.Action) (*Transaction, error) {
	return s.change(ctx, ref, nil, func(t *Transaction) error { return t.apply(actions) })
}

// AlterCommit alters a commit as [Store.Alter] does. It creates the record from commit if there is
// none yet.
func (s *Store) AlterCommit(ctx context.Context, ref Ref, commit Commit, actions []transactionapi.Action) (*Transaction, error) {
	ref.UUID = commit.UUID
	return s.change(ctx, ref.recorded(), OfCommit(ref.Table, commit), func(t *Transaction) error {
		return t.apply(actions)
	})
}

// Advance changes a job's record on behalf of its worker. If the job has ended, the error is
// ErrEnded and change is not called. change may be called several times, each time with the current
// transaction.
func (s *Store) Advance(ctx context.Context, job Unit, change func(*Transaction)) (*Transaction, error) {
	return s.change(ctx, Ref{Unit: job}, nil, func(t *Transaction) error {
		if t.Status.Ended() {
			return ErrEnded
		}
		change(t)
		return nil
	})
}

const (
	maxAttempts = 20
	firstPause  = 2 * time.Millisecond
	maxPause    = 200 * time.Millisecond
)

// change replaces a record by the result of apply and retries on conflicts. A missing record starts
// from fresh; with a nil fresh the error is TransactionNotFound.
func (s *Store) change(ctx context.Context, ref Ref, fresh *Transaction, apply func(*Transaction) error) (*Transaction, error) {
	for attempt := range maxAttempts {
		t, version, err := s.read(ctx, ref)
		if errors.Is(err, record.ErrNotExist) && fresh != nil {
			t, version, err = fresh.clone(), "", nil
			t.ID, t.Created = ref.id(), s.now().UTC()
		}
		if err != nil {
			return nil, s.translate(ref, err)
		}
		before := t.clone()
		if err := apply(t); err != nil {
			return nil, err
		}
		// Equal states need no write, and a repeated call then has no effect.
		if unchanged(before, t) {
			return t, nil
		}
		t.Updated = s.now().UTC()
		// Only jobs and parts have events.
		if ref.Unit.Job != "" {
			t.observe(before, t.Updated)
		}
		_, err = s.write(ctx, ref, t, version, t.expires())
		// Report the end of a job once: when the write that ended it succeeded.
		if err == nil && s.ended != nil && ref.Unit.isJob() && t.Status.Ended() && t.Status != before.Status {
			s.ended(context.WithoutCancel(ctx), t)
		}
		if !errors.Is(err, record.ErrConflict) {
			return t, s.translate(ref, err)
		}
		if err := backoff.Wait(ctx, firstPause, maxPause, attempt); err != nil {
			return nil, err
		}
	}
	return nil, &protocol.Error{
		Code: protocol.ConcurrentModification, Message: "transaction " + ref.id() + " is being changed by other requests",
		Detail: "the request changed nothing; try again",
	}
}

// unchanged reports whether two states are equal. Nil and empty properties are equal.
func unchanged(a, b *Transaction) bool {
	if len(a.Properties) == 0 && len(b.Properties) == 0 {
		bare := *b
		bare.Properties = a.Properties
		b = &bare
	}
	return reflect.DeepEqual(a, b)
}

// clone returns a copy that shares only byte slices with t. These are replaced, never modified.
func (t *Transaction) clone() *Transaction {
	c := *t
	c.Properties = maps.Clone(t.Properties)
	if t.Work != nil {
		work := *t.Work
		work.Results = maps.Clone(t.Work.Results)
		c.Work = &work
	}
	return &c
}

// expires returns the time at which the record may be deleted, or zero for records that stay:
// running jobs, jobs that were set aside, and altered commits and changes.
func (t *Transaction) expires() time.Time {
	if t.Commit == nil && t.Change == nil && t.Status.Ended() && !t.isSetAside() {
		return t.Updated.Add(Retention)
	}
	return time.Time{}
}

func (s *Store) read(ctx context.Context, ref Ref) (t *Transaction, version string, err error) {
	r, err := s.records.Get(ctx, ref.key())
	if err != nil {
		return nil, "", err
	}
	t, err = decode(ref, r)
	return t, r.Version, err
}

func decode(ref Ref, r record.Record) (*Transaction, error) {
	t := new(Transaction)
	if err := r.Decode(t); err != nil {
		return nil, err
	}
	t.ID = ref.id()
	return t, nil
}

// write stores a transaction if its record still has the version, "" for a new one.
func (s *Store) write(ctx context.Context, ref Ref, t *Transaction, version string, expires time.Time) (string, error) {
	value, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("encode transaction %s: %w", t.ID, err)
	}
	if len(value) > record.MaxValueBytes {
		return "", protocol.Errorf(protocol.InvalidInput, "the properties of a transaction take more than %d bytes", record.MaxValueBytes)
	}
	return s.records.Put(ctx, record.Record{Key: ref.key(), Value: value, Version: version, Expires: expires})
}

// Jobs lists the records of jobs, newest first: at most limit of them after the given id. next is
// the id to continue after, "" at the end. A page may be short. With an error that [format.Newer]
// recognizes, the page contains all readable jobs.
func (s *Store) Jobs(ctx context.Context, after string, limit int) (jobs []*Transaction, next string, err error) {
	page, err := s.records.List(ctx, jobFolder, after, limit)
	if err != nil {
		return nil, "", fmt.Errorf("list jobs: %w", err)
	}
	for _, r := range page.Records {
		_, id := record.SplitKey(r.Key)
		t, wrong := decode(Ref{Unit: Unit{Job: id}}, r)
		switch {
		case wrong == nil:
			jobs = append(jobs, t)
		// Return the readable jobs too, so that an old worker can still serve them.
		case format.Newer(wrong):
			err = wrong
		default:
			return nil, "", wrong
		}
	}
	return jobs, page.Next, err
}

// translate turns errors of the record store into protocol errors.
func (s *Store) translate(ref Ref, err error) error {
	switch {
	case errors.Is(err, record.ErrNotExist):
		return notFound(ref.id(), err)
	case errors.Is(err, record.ErrUnknownOutcome):
		return &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: "the answer of the storage was lost, so it is unknown whether transaction " + ref.id() + " was changed",
			Detail: "describe the transaction before you retry", Unsettled: true, Err: err,
		}
	}
	return err
}
