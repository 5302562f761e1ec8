// Package objectstore is the only access to stored bytes: objects under slash-separated keys, immutable by
// convention, and the conditional writes on which commits and catalog records depend.
//
// A [Store] gives the guarantees of S3: a put is complete or absent, a read after a write sees the write,
// listings are consistent and in bytewise key order, and of many concurrent conditional writes exactly one
// wins. The implementations are memstore, diskstore, s3store and faultstore, a wrapper that counts requests
// and injects faults. storetest tests the contract of all of them.
//
// Keys are relative ("movies.lance/data/x.lance"): never empty, no leading or trailing slash, no empty, "."
// or ".." component, no NUL. [CheckKey] checks this, and every implementation refuses other keys with
// [ErrInvalidKey] before it does anything. Portable callers never put both "a" and "a/b": a directory
// cannot hold both, and diskstore refuses the second.
//
// [Roots] resolves the locations of clients to a store and a key prefix, and refuses locations outside of
// the configured roots.
package objectstore

import (
	"context"
	"errors"
	"io"
	"time"
)

var (
	// ErrNotExist means that the object does not exist.
	ErrNotExist = errors.New("object does not exist")
	// ErrPrecondition means that the condition of a write does not hold: the object already exists
	// (IfAbsent), or has changed or disappeared (IfMatch).
	ErrPrecondition = errors.New("precondition failed")
	// ErrInvalidKey means that a key is invalid for all stores, or too long for this one.
	ErrInvalidKey = errors.New("invalid object key")
	// ErrLink means that the path to a new object contains a symbolic link. Files behind a link are
	// not objects.
	ErrLink = errors.New("the path contains a symbolic link")
	// ErrInvalidRange means that a requested range does not lie within the object.
	ErrInvalidRange = errors.New("range outside the object")
	// ErrUnknownOutcome means that a write was sent and its answer was lost: it may or may not have
	// happened. The caller must read the object before it decides.
	ErrUnknownOutcome = errors.New("the outcome of the write is unknown")
)

// Info describes an object as it was when it was read, written or listed. Modified after a write
// may differ by seconds from later reads, because S3 does not return it for writes.
type Info struct {
	Key      string
	Size     int64
	ETag     string // opaque; equal ETags mean the same content of the same key
	Modified time.Time
}

// A Range is a range of an object's bytes. A negative Offset counts from the end, like an HTTP suffix
// range: {Offset: -64} is the last 64 bytes, or the whole object if it is shorter; Length is then ignored.
// An empty Range within the object is valid.
type Range struct {
	Offset int64
	Length int64
}

// A Condition guards a write. The zero value is no condition. Setting both fields is an error,
// which is returned before anything is written.
type Condition struct {
	IfAbsent bool   // the key must not exist
	IfMatch  string // the object must exist and have this ETag
}

// ListOptions selects keys. The zero value selects all of them. For the next page, set StartAfter to the
// Last of a page, as [Pages] does.
type ListOptions struct {
	Prefix     string // only keys that begin with it; it need not end with a slash
	StartAfter string // only keys (and common prefixes) bytewise greater than it
	Delimiter  string // "" or "/": keys that contain it after Prefix are replaced by their common prefix
	Limit      int    // the most objects and prefixes together; 0 means no limit
	KeysOnly   bool   // only the keys of objects are needed, which saves some stores work
}

// A ListPage is one page of a listing.
type ListPage struct {
	Objects  []Info   // bytewise ascending by Key
	Prefixes []string // common prefixes, each ending with the delimiter, ascending
	More     bool     // Limit has ended the listing, and the page is not empty; on some servers nothing may follow
}

// Last returns the last key or common prefix of a page, whichever is greater, and "" if the page is
// empty.
func (p ListPage) Last() string {
	last := ""
	if n := len(p.Objects); n > 0 {
		last = p.Objects[n-1].Key
	}
	if n := len(p.Prefixes); n > 0 {
		last = max(last, p.Prefixes[n-1])
	}
	return last
}

// A Store holds objects. All methods are safe for concurrent use. Where they apply, they return
// ErrNotExist, ErrPrecondition, ErrInvalidKey, ErrInvalidRange or ErrUnknownOutcome (wrapped, with
// the key), and the context's error when it ends.
type Store interface {
	// Get returns a whole object. The caller owns the bytes.
	Get(ctx context.Context, key string) ([]byte, Info, error)
	// GetRanges returns the bytes of each range, in the order of the arguments, all from the same
	// object. The requests of one call run concurrently. A range beyond the object's end is
	// ErrInvalidRange (except the suffix form of Range). Without ranges it returns only the Info.
	// The caller owns the bytes.
	GetRanges(ctx context.Context, key string, ranges ...Range) ([][]byte, Info, error)
	// Put writes a whole object if cond holds, and returns its Info. The store does not keep data.
	// When it returns nil, the object is durable.
	Put(ctx context.Context, key string, data []byte, cond Condition) (Info, error)
	// Delete removes an object if cond holds. Removing a missing object succeeds unless
	// cond.IfMatch is set. Setting cond.IfAbsent is an error.
	Delete(ctx context.Context, key string, cond Condition) error
	// List returns keys in bytewise order.
	List(ctx context.Context, opts ListOptions) (ListPage, error)
	// Create starts a streamed write of an object of unknown size.
	Create(ctx context.Context, key string) (Writer, error)
}

// A Writer receives the bytes of one object. When Commit returns nil, the object is complete and durable
// under its key, and replaces an earlier one. Abort discards the written bytes. It may be called at any
// time, and does nothing after Commit. A Writer is used by one goroutine.
type Writer interface {
	io.Writer
	Commit() (Info, error)
	Abort() error
}
