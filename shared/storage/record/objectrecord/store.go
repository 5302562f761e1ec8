// Package objectrecord keeps records as objects of an object store, one JSON object each:
//
//	_records/<key>    {"write": …, "after": …, "expires": …, "value": …}
//
// A put-if-absent creates a record and a put-if-match replaces it, so the consistency of records
// follows from that of the object store.
package objectrecord

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

const prefix = "_records/"

// A Store holds records in an object store.
type Store struct {
	objects objectstore.Store
	now     func() time.Time
}

// Open returns the records in an object store.
func Open(objects objectstore.Store, now func() time.Time) *Store {
	return &Store{objects: objects, now: now}
}

// envelope is the content of an object.
type envelope struct {
	record.Trace
	Expires int64           `json:"expires,omitempty"` // seconds since 1970; 0 means never
	Value   json.RawMessage `json:"value"`
}

// A version consists of the random name of its write and its ETag. The next write stores the name
// as its after, and is conditional on the ETag.
func versionOf(write, etag string) string { return write + " " + etag }

// Get returns a record.
func (s *Store) Get(ctx context.Context, key string) (record.Record, error) {
	if err := record.CheckKey(key); err != nil {
		return record.Record{}, err
	}
	found, _, err := s.read(ctx, key)
	if err == nil && found.Expired(s.now()) {
		err = record.ErrNotExist
	}
	if err != nil {
		return record.Record{}, fmt.Errorf("get record %s: %w", key, err)
	}
	return found, nil
}

// read returns the record under a key, even if it has expired.
func (s *Store) read(ctx context.Context, key string) (record.Record, record.Trace, error) {
	data, info, err := s.objects.Get(ctx, prefix+key)
	if errors.Is(err, objectstore.ErrNotExist) {
		return record.Record{}, record.Trace{}, record.ErrNotExist
	}
	if err != nil {
		return record.Record{}, record.Trace{}, err
	}
	var e envelope
	if err := format.Decode("record "+key, data, &e); err != nil {
		return record.Record{}, record.Trace{}, err
	}
	found := record.Record{Key: key, Value: e.Value, Version: versionOf(e.Write, info.ETag)}
	if e.Expires != 0 {
		found.Expires = time.Unix(e.Expires, 0)
	}
	return found, e.Trace, nil
}

// Put writes a record.
func (s *Store) Put(ctx context.Context, r record.Record) (version string, err error) {
	if err := r.Check(); err != nil {
		return "", err
	}
	version, err = s.replace(ctx, r)
	if r.Version == "" && errors.Is(err, record.ErrConflict) {
		version, err = s.replaceExpired(ctx, r, err)
	}
	if err != nil {
		return "", fmt.Errorf("put record %s: %w", r.Key, err)
	}
	return version, nil
}

// replaceExpired writes a record in place of an expired one, or returns conflict.
func (s *Store) replaceExpired(ctx context.Context, r record.Record, conflict error) (version string, err error) {
	there, _, err := s.read(ctx, r.Key)
	if err != nil || !there.Expired(s.now()) {
		return "", conflict
	}
	r.Version = there.Version
	return s.replace(ctx, r)
}

const maxAttempts = 3

// replace writes a record on condition of its version. When an answer is lost, replace sends the
// same put again: it cannot take place twice, and the object that is found shows whether it took
// place once.
func (s *Store) replace(ctx context.Context, r record.Record) (version string, err error) {
	after, etag, ok := strings.Cut(r.Version, " ")
	if r.Version != "" && !ok {
		return "", record.ErrConflict
	}
	mine := record.Trace{Write: rand.Text(), After: after}
	data, err := encode(r, mine)
	if err != nil {
		return "", err
	}
	cond := objectstore.Condition{IfAbsent: r.Version == "", IfMatch: etag}
	unsettled := false
	for range maxAttempts {
		info, err := s.objects.Put(ctx, prefix+r.Key, data, cond)
		switch {
		case err == nil:
			return versionOf(mine.Write, info.ETag), nil
		case errors.Is(err, objectstore.ErrUnknownOutcome):
			unsettled = true
		case !errors.Is(err, objectstore.ErrPrecondition):
			return "", unknownIf(unsettled, err)
		case !unsettled:
			return "", record.ErrConflict
		default:
			return s.settle(ctx, r.Key, mine)
		}
	}
	return "", record.ErrUnknownOutcome
}

// encode leaves <, > and & unescaped, because people may read the objects.
func encode(r record.Record, trace record.Trace) ([]byte, error) {
	e := envelope{Trace: trace, Value: r.Value}
	if !r.Expires.IsZero() {
		e.Expires = r.Expires.Unix()
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(e)
	return b.Bytes(), err
}

// unknownIf adds ErrUnknownOutcome to an error after a put with a lost answer.
func unknownIf(unsettled bool, err error) error {
	if unsettled {
		return fmt.Errorf("%w: %w", record.ErrUnknownOutcome, err)
	}
	return err
}

// superseded replaces the ETag of a write that another write has followed.
const superseded = "superseded"

// settle determines whether a put that was sent several times succeeded.
func (s *Store) settle(ctx context.Context, key string, mine record.Trace) (version string, err error) {
	there, trace, err := s.read(ctx, key)
	if err != nil {
		return "", unknownIf(true, err)
	}
	if err := mine.Settle(trace); err != nil {
		return "", err
	}
	if trace.Write != mine.Write {
		return versionOf(mine.Write, superseded), nil
	}
	return there.Version, nil
}

// Delete removes a record.
func (s *Store) Delete(ctx context.Context, key, version string) error {
	if err := record.CheckKey(key); err != nil {
		return err
	}
	_, etag, ok := strings.Cut(version, " ")
	if !ok {
		return fmt.Errorf("delete record %s: %w", key, record.ErrConflict)
	}
	err := s.objects.Delete(ctx, prefix+key, objectstore.Condition{IfMatch: etag})
	switch {
	case errors.Is(err, objectstore.ErrPrecondition), errors.Is(err, objectstore.ErrNotExist):
		err = record.ErrConflict
	case errors.Is(err, objectstore.ErrUnknownOutcome):
		err = fmt.Errorf("%w: %w", record.ErrUnknownOutcome, err)
	}
	if err != nil {
		return fmt.Errorf("delete record %s: %w", key, err)
	}
	return nil
}
