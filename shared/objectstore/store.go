// Package objectstore is the one door to bytes: immutable-by-convention objects under
// slash-separated keys, with the conditional writes that commits and catalog records
// are built on.
//
// A [Store] promises what S3 promises: a put is whole or absent, a read after a write
// sees the write, listings are consistent and in bytewise key order, and of many
// concurrent conditional writes exactly one wins. Implementations live in memstore,
// diskstore, s3store and faultstore (a wrapper that counts requests and injects faults);
// storetest holds the contract that all of them pass.
//
// Keys are relative ("movies.lance/data/x.lance"): never empty, no leading or trailing
// slash, no empty, "." or ".." component, no NUL. [CheckKey] says so, and every
// implementation refuses other keys with [ErrInvalidKey] before it touches anything.
// A caller who wants to run on every store never puts both "a" and "a/b": a directory
// cannot hold the two, and diskstore refuses the second.
//
// [Roots] turns the locations that people and clients write into a store and a key
// prefix in it, and refuses what lies outside.
package objectstore

import (
	"context"
	"errors"
	"io"
	"time"
)

var (
	// ErrNotExist says that the object is not there.
	ErrNotExist = errors.New("object does not exist")
	// ErrPrecondition says that a conditional write was settled against the caller:
	// the object exists already (IfAbsent), or is another one or gone (IfMatch).
	ErrPrecondition = errors.New("precondition failed")
	// ErrInvalidKey says that a key is not one that any store may hold, or is longer than
	// this store can hold.
	ErrInvalidKey = errors.New("invalid object key")
	// ErrLink says that a symbolic link is on the way to where an object was to be put. Nothing
	// that lies behind a link is an object.
	ErrLink = errors.New("a symbolic link is on the way")
	// ErrInvalidRange says that a requested range does not lie within the object.
	ErrInvalidRange = errors.New("range outside the object")
	// ErrUnknownOutcome says that a write was sent and its answer was lost: it may or
	// may not have happened. The caller reads back before it decides.
	ErrUnknownOutcome = errors.New("outcome of the write is unknown")
)

// Info describes an object as it was when it was read, written or listed. The Modified of
// a write may differ by seconds from what later reads tell: S3 does not answer it.
type Info struct {
	Key      string
	Size     int64
	ETag     string // opaque; equal ETags mean the same content of the same key
	Modified time.Time
}

// Range is a run of bytes of an object. A negative Offset counts from the end, as an
// HTTP suffix range does: {Offset: -64} is the last 64 bytes, or the whole object when
// it is shorter; its Length is ignored. A Range of no bytes within the object is valid.
type Range struct {
	Offset int64
	Length int64
}

// Condition guards a write. The zero value guards nothing; to set both is a mistake of
// the caller, answered with an error before anything is written.
type Condition struct {
	IfAbsent bool   // the key must not exist
	IfMatch  string // the object must exist and have this ETag
}

// ListOptions selects keys. The zero value selects all of them. To page, pass the last
// key or prefix of a page, whichever is greater, as StartAfter of the next.
type ListOptions struct {
	Prefix     string // only keys that begin with it; need not end at a slash
	StartAfter string // only keys (and common prefixes) bytewise greater than it
	Delimiter  string // "" or "/": keys that hold it after Prefix are rolled up in Prefixes
	Limit      int    // at most so many objects and prefixes together; 0 means no limit
	KeysOnly   bool   // of each object the key is enough, which spares some stores a look at it
}

// ListPage is one answer of List.
type ListPage struct {
	Objects  []Info   // bytewise ascending by Key
	Prefixes []string // rolled-up prefixes, each ending with the delimiter, ascending
	More     bool     // true when Limit cut the listing short
}

// A Store holds objects. All methods are safe for concurrent use. They return
// ErrNotExist, ErrPrecondition, ErrInvalidKey, ErrInvalidRange or ErrUnknownOutcome
// (wrapped, with the key) where those apply, and the context's error when it ends.
type Store interface {
	// Get returns a whole object. The caller owns the bytes.
	Get(ctx context.Context, key string) ([]byte, Info, error)
	// GetRanges returns the bytes of each range, in the order asked, from one and the
	// same object. Requests of one call run concurrently. A range that reaches past
	// the end is ErrInvalidRange (but see the suffix form of Range). Without ranges it
	// only answers the Info. The caller owns the bytes.
	GetRanges(ctx context.Context, key string, ranges ...Range) ([][]byte, Info, error)
	// Put writes a whole object if cond holds and returns its Info. The store does not
	// keep data. When it returns nil the object is durable.
	Put(ctx context.Context, key string, data []byte, cond Condition) (Info, error)
	// Delete removes an object if cond holds. Removing what is not there succeeds
	// unless cond.IfMatch is set. cond.IfAbsent is a mistake of the caller.
	Delete(ctx context.Context, key string, cond Condition) error
	// List returns keys in bytewise order.
	List(ctx context.Context, opts ListOptions) (ListPage, error)
	// Create starts a streamed write of an object of unknown size.
	Create(ctx context.Context, key string) (Writer, error)
}

// A Writer receives the bytes of one object. Nothing is visible under the key before
// Commit has returned nil; after it the object is whole and durable, replacing what was
// there. Abort drops what was written and may be called at any time, also after Commit
// (when it does nothing). A Writer is used by one goroutine.
type Writer interface {
	io.Writer
	Commit() (Info, error)
	Abort() error
}
