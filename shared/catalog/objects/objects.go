// Package objects reads JSON objects, writes them conditionally, and determines the outcome of a
// write whose answer was lost.
//
// Each object contains a unique id, and no object ever returns to an earlier state. A writer that
// reads back its own bytes can therefore conclude that its write happened, and a writer that reads
// a later state, that its own write can no longer happen.
package objects

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/outage"
)

// A Store holds objects.
type Store struct{ objectstore.Store }

// Find loads an object into v and returns its ETag. found is false when there is no object.
func (s Store) Find(ctx context.Context, key string, v any) (etag string, found bool, err error) {
	etag, err = s.Read(ctx, key, v)
	if Missing(err) {
		return "", false, nil
	}
	return etag, err == nil, err
}

// Read loads an object that should exist. Otherwise the error is objectstore.ErrNotExist.
func (s Store) Read(ctx context.Context, key string, v any) (etag string, err error) {
	data, info, err := s.Get(ctx, key)
	if err != nil {
		return "", fmt.Errorf("read record: %w", err)
	}
	if err := format.Decode("record "+key, data, v); err != nil {
		return "", err
	}
	return info.ETag, nil
}

// Peek loads some members of an object for a caller that does not write it back: unknown members
// are ignored.
func (s Store) Peek(ctx context.Context, key string, v any) (etag string, err error) {
	data, info, err := s.Get(ctx, key)
	if err != nil {
		return "", fmt.Errorf("read record: %w", err)
	}
	if err := format.Peek("record "+key, data, v); err != nil {
		return "", err
	}
	return info.ETag, nil
}

// Exists reports whether there is an object, of any content.
func (s Store) Exists(ctx context.Context, key string) (bool, error) {
	_, _, err := s.GetRanges(ctx, key)
	return err == nil, IgnoreMissing(err)
}

// Write puts an object if cond holds, and returns its ETag. When the answer of the put is lost,
// Write reads the object back. [Changed] is true for the error when cond does not hold.
func (s Store) Write(ctx context.Context, key string, object any, cond objectstore.Condition) (etag string, err error) {
	data, err := encode(object)
	if err != nil {
		return "", fmt.Errorf("encode record %s: %w", key, err)
	}
	info, err := s.Put(ctx, key, data, cond)
	if errors.Is(err, objectstore.ErrUnknownOutcome) {
		return s.outcome(ctx, key, data, cond, err)
	}
	if err != nil {
		return "", fmt.Errorf("write record: %w", err)
	}
	return info.ETag, nil
}

// outcome reads an object back after a put whose answer was lost. The outcome stays unknown in two
// cases. If the object is as it was before, the put may still arrive. If the put was to create the
// object and another writer has created one, the put may still arrive once that object is deleted.
// A put that replaces a specific object cannot arrive after that object has changed, because no
// object ever returns to an earlier state.
func (s Store) outcome(ctx context.Context, key string, data []byte, cond objectstore.Condition, cause error) (etag string, err error) {
	there, info, err := s.Get(ctx, key)
	missing := Missing(err)
	switch {
	case err == nil && string(there) == string(data):
		return info.ETag, nil
	case cond.IfMatch != "" && (missing || err == nil && info.ETag != cond.IfMatch):
		return "", fmt.Errorf("write record: %w", objectstore.ErrPrecondition)
	}
	return "", Unsettled(errors.Join(cause, err))
}

// Remove deletes the object with the given uid and ETag. [Changed] is true for the error if the key
// has another object, or none. If the answer is lost and the object no longer exists, it counts as
// deleted, no matter which process deleted it.
func (s Store) Remove(ctx context.Context, key, uid, etag string) error {
	vanished, err := s.TryRemove(ctx, key, uid, etag)
	if vanished {
		return nil
	}
	return err
}

// TryRemove is a Remove that distinguishes which process deleted the object. vanished is true if
// the answer was lost and neither the object nor a changed version of it exists. The error is then
// [Unsettled].
func (s Store) TryRemove(ctx context.Context, key, uid, etag string) (vanished bool, err error) {
	cause := s.Delete(ctx, key, objectstore.Condition{IfMatch: etag})
	if cause == nil {
		return false, nil
	}
	if !errors.Is(cause, objectstore.ErrUnknownOutcome) {
		return false, fmt.Errorf("delete record: %w", cause)
	}
	var there struct {
		UID string `json:"uid"`
	}
	now, err := s.Peek(ctx, key, &there)
	found := err == nil
	err = IgnoreMissing(err)
	if found && there.UID == uid && now != etag {
		return false, fmt.Errorf("delete record: %w", objectstore.ErrPrecondition)
	}
	vanished = err == nil && (!found || there.UID != uid)
	return vanished, Unsettled(errors.Join(cause, err))
}

// Changed reports whether a conditional write failed because the object has changed or no longer
// exists.
func Changed(err error) bool { return Taken(err) || Missing(err) }

// Taken reports whether a put that needs a free key has failed because there is an object.
func Taken(err error) bool { return errors.Is(err, objectstore.ErrPrecondition) }

// Missing reports whether an error means that an object does not exist.
func Missing(err error) bool { return errors.Is(err, objectstore.ErrNotExist) }

// IgnoreMissing returns nil if the error means that an object does not exist.
func IgnoreMissing(err error) error {
	if Missing(err) {
		return nil
	}
	return err
}

// IgnoreChanged returns nil for an error for which [Changed] is true.
func IgnoreChanged(err error) error {
	if Changed(err) {
		return nil
	}
	return err
}

// Unsettled returns the error for a write that may have happened or may still happen. It hides the
// cause from errors.Is: a failed precondition, for example, may be due to our own first try. Only
// an outage is kept.
func Unsettled(cause error) error {
	unknown := fmt.Errorf("%w: %s", objectstore.ErrUnknownOutcome, cause.Error())
	if trouble := outage.Of(cause); trouble != nil {
		unknown = &outage.Error{Message: trouble.Message, Err: unknown}
	}
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "the answer of the storage was lost, so the write may or may not have happened",
		Detail: "read the object before you retry", Unsettled: true, Err: unknown,
	}
}

// NewUID returns a unique id of 96 random bits.
func NewUID() string {
	var b [12]byte
	rand.Read(b[:]) // never returns an error: a failure ends the program
	return hex.EncodeToString(b[:])
}
