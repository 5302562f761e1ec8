// Package record keeps small JSON records that change: what transactions have come to,
// and what repeated requests were answered. It is for state that several processes write,
// one record at a time, each write in place of one certain version. Tables and names are
// not here; they are objects of the catalog's own layout.
//
// A [Store] has two implementations. objectrecord keeps records as objects beside the
// tables, so that a directory or a bucket needs nothing else, and several processes may
// share it. dynamorecord keeps them in a DynamoDB table, where a write costs less and what
// has expired goes away by itself. recordtest holds the contract that both pass.
//
// An embedded database file would be a third way, and is not one: it belongs to the one
// process that has it open, while two servers over one directory are a thing that works.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNotExist says that there is no record under the key, or only one that has expired.
	ErrNotExist = errors.New("record does not exist")
	// ErrConflict says that the record is not, or no longer, the version that was to be
	// replaced. Nothing was written.
	ErrConflict = errors.New("record was changed meanwhile")
	// ErrUnknownOutcome says that a write was sent and nobody knows whether it happened.
	ErrUnknownOutcome = errors.New("outcome of the write of a record is unknown")
)

// A Record is one value under a key.
type Record struct {
	// Key is a folder and a name, joined by the last slash: "job/0af3". See [CheckKey].
	Key string
	// Value is a JSON text of up to [MaxValueBytes]. White space in it may get lost.
	Value json.RawMessage
	// Version names one write of the record. It is opaque, and "" before the first.
	Version string
	// Expires is when the record ceases to exist, in whole seconds; zero means never.
	Expires time.Time
}

// A Page is a part of a folder.
type Page struct {
	Records []Record // by name, bytewise ascending
	Next    string   // the name to go on after; "" at the end
}

// A Store holds records. All methods are safe for concurrent use, and see every write that
// has been answered. Errors are wrapped with the key.
type Store interface {
	// Get returns the record under a key, or ErrNotExist.
	Get(ctx context.Context, key string) (Record, error)
	// Put writes r in place of the version r.Version, or where there is none when that is
	// "", and returns the version that r is now. When the record is another version, or
	// gone, the error is ErrConflict. Of several that replace one version exactly one does.
	// A version that expired counts as none, but need not when it is replaced by name.
	Put(ctx context.Context, r Record) (version string, err error)
	// Delete removes that version of a record. ErrConflict says that it is another one by
	// now, or gone.
	Delete(ctx context.Context, key, version string) error
	// List returns records of a folder by name, those after the given one. It looks at no
	// more than limit of them, which is positive, and leaves out what has expired, so that
	// a page may be short without being the last.
	List(ctx context.Context, folder, after string, limit int) (Page, error)
}

// The limits of records. DynamoDB's are a little wider.
const (
	MaxKeyBytes   = 200
	MaxValueBytes = 256 << 10
)

// CheckKey refuses what is not a key: two or more parts joined by slashes, each of lower
// case letters, digits, dashes and underscores.
func CheckKey(key string) error {
	parts := strings.Split(key, "/")
	if len(key) > MaxKeyBytes || len(parts) < 2 {
		return fmt.Errorf("record key %.200q is not a folder and a name of up to %d bytes", key, MaxKeyBytes)
	}
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, odd) {
			return fmt.Errorf("record key %q holds other characters than a-z, 0-9, - and _", key)
		}
	}
	return nil
}

func odd(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// Check refuses a record that no store takes. It is for implementations, as are
// [CheckList], [Record.Expired], [SplitKey] and [Trace].
func (r Record) Check() error {
	if err := CheckKey(r.Key); err != nil {
		return err
	}
	if len(r.Value) > MaxValueBytes || !json.Valid(r.Value) {
		return fmt.Errorf("value of record %s is not JSON of up to %d bytes", r.Key, MaxValueBytes)
	}
	return nil
}

// Expired says whether the record has ceased to exist.
func (r Record) Expired(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

// SplitKey takes a valid key apart.
func SplitKey(key string) (folder, name string) {
	i := strings.LastIndexByte(key, '/')
	return key[:i], key[i+1:]
}

// CheckList refuses a listing that no store answers.
func CheckList(folder string, limit int) error {
	if limit <= 0 {
		return fmt.Errorf("list records of %.200q: the limit is not positive", folder)
	}
	return CheckKey(folder + "/0")
}

// Sweep deletes records that have expired, of those written longer ago than age, and
// returns how many. Only stores that do not do so by themselves have any.
func Sweep(ctx context.Context, s Store, age time.Duration) (deleted int, err error) {
	if sweeper, ok := s.(interface {
		Sweep(ctx context.Context, age time.Duration) (int, error)
	}); ok {
		return sweeper.Sweep(ctx, age)
	}
	return 0, nil
}
