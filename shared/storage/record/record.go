// Package record stores small mutable JSON records: the states of transactions, and the responses for
// idempotent requests. Several processes may write them; each write replaces one specific version of one
// record. Tables and names are not records; they are objects in the catalog's own layout.
//
// A [Store] has two implementations. objectrecord keeps records as objects beside the tables, so that a
// directory or a bucket suffices and several processes may share it. dynamorecord keeps them in a DynamoDB
// table, where a write costs less and expired records are deleted automatically. recordtest tests the
// contract of both.
//
// An embedded database file was rejected as a third implementation: only one process can open it, but two
// servers over one directory must work.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/storage/format"
)

var (
	// ErrNotExist means that no record has the key, or only an expired one.
	ErrNotExist = errors.New("record does not exist")
	// ErrConflict means that the record is not, or no longer, the version that the write should
	// replace. Nothing was written.
	ErrConflict = errors.New("another request has changed the record")
	// ErrUnknownOutcome means that a write was sent, and that its answer was lost.
	ErrUnknownOutcome = errors.New("the outcome of writing a record is unknown")
)

// A Record is one value under a key.
type Record struct {
	// Key is a folder and a name, joined by the last slash: "job/0af3". See [CheckKey].
	Key string
	// Value is JSON of up to [MaxValueBytes] bytes. A store may drop white space in it.
	Value json.RawMessage
	// Version identifies one write of the record. It is opaque, and "" before the first write.
	Version string
	// Expires is the time, in whole seconds, at which the record ceases to exist. Zero means never.
	Expires time.Time
}

// A Page is a part of a folder.
type Page struct {
	Records []Record // in bytewise ascending order of names
	Next    string   // the name to continue after; "" at the end
}

// A Store holds records. All methods are safe for concurrent use, and see every write that has been
// answered. Errors contain the key.
type Store interface {
	// Get returns the record under a key, or ErrNotExist.
	Get(ctx context.Context, key string) (Record, error)
	// Put replaces the version r.Version, or creates the record if that is "". It returns the new version.
	// If the record has another version, or is missing, the error is ErrConflict. If several writers
	// replace the same version, exactly one succeeds. An expired record counts as missing; a Put that names
	// its version may still succeed.
	Put(ctx context.Context, r Record) (version string, err error)
	// Delete removes the given version of a record. The error is ErrConflict if the record has another
	// version, or is missing. After a lost answer a store retries, and returns nil if the record is then
	// missing. So two callers that delete one version may both succeed.
	Delete(ctx context.Context, key, version string) error
	// List returns records of a folder in the order of names, after the given name. It reads at most limit
	// records, a positive number, and skips expired ones, so a short page need not be the last.
	List(ctx context.Context, folder, after string, limit int) (Page, error)
}

// The limits of records, slightly below those of DynamoDB.
const (
	MaxKeyBytes   = 200
	MaxValueBytes = 256 << 10
)

// CheckKey returns an error for an invalid key. A key consists of two or more parts joined by
// slashes, each of lower case letters, digits, dashes and underscores.
func CheckKey(key string) error {
	parts := strings.Split(key, "/")
	if len(key) > MaxKeyBytes || len(parts) < 2 {
		return fmt.Errorf("record key %.200q is not a folder and a name of up to %d bytes", key, MaxKeyBytes)
	}
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, odd) {
			return fmt.Errorf("record key %q contains other characters than a-z, 0-9, - and _", key)
		}
	}
	return nil
}

func odd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// Check returns an error for a record that no store accepts. Like [CheckList], [Record.Expired], [SplitKey]
// and [Trace], it is meant for implementations.
func (r Record) Check() error {
	if err := CheckKey(r.Key); err != nil {
		return err
	}
	if len(r.Value) > MaxValueBytes || !json.Valid(r.Value) {
		return fmt.Errorf("value of record %s is not JSON of up to %d bytes", r.Key, MaxValueBytes)
	}
	return nil
}

// Decode decodes the value of the record into v. A value that a newer release wrote is an error: see
// package format. A caller must decode each record that it replaces.
func (r Record) Decode(v any) error { return format.Decode("record "+r.Key, r.Value, v) }

// Expired reports whether the record has ceased to exist.
func (r Record) Expired(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

// SplitKey splits a valid key into folder and name.
func SplitKey(key string) (folder, name string) {
	i := strings.LastIndexByte(key, '/')
	return key[:i], key[i+1:]
}

// CheckList returns an error for an invalid listing.
func CheckList(folder string, limit int) error {
	if limit <= 0 {
		return fmt.Errorf("list records of %.200q: the limit is not positive", folder)
	}
	return CheckKey(folder + "/0")
}

// Sweep deletes expired records that were written longer ago than age, and returns their number. It does
// nothing for a store with automatic expiry.
func Sweep(ctx context.Context, s Store, age time.Duration) (deleted int, err error) {
	if sweeper, ok := s.(interface {
		Sweep(ctx context.Context, age time.Duration) (int, error)
	}); ok {
		return sweeper.Sweep(ctx, age)
	}
	return 0, nil
}

// Expired returns the number of stored records that expired longer ago than age. It is 0 for a store with
// automatic expiry.
func Expired(ctx context.Context, s Store, age time.Duration) (records int, err error) {
	if sweeper, ok := s.(interface {
		Expired(ctx context.Context, age time.Duration) (int, error)
	}); ok {
		return sweeper.Expired(ctx, age)
	}
	return 0, nil
}
