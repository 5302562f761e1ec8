// Package catalog knows the names: which namespaces and tables there are, what they are
// called, and where a table's data lies. It knows nothing of rows.
//
// Each namespace and each table is one small JSON object (keys.go says where), so that
// creating is one put-if-absent, changing one put-if-match, describing one GET, and
// listing one LIST in name order. No lock, no shared index, no object that all writers
// meet at.
//
// What keeps a name and its surroundings consistent without a lock:
//
//   - Exactly one creator wins a name: the put-if-absent of its record decides.
//   - A namespace is dropped in steps that a concurrent create inside it can see: the
//     record is marked as dropping (put-if-match), the children are listed, and only an
//     empty namespace's record is deleted. Whoever creates inside reads the parent again
//     after its own put, and takes that back when the parent is going or gone. So either
//     the drop sees the child or the creator sees the drop.
//   - The put of a creator that died may come after all that: what is in no namespace goes
//     with a sweep (orphans.go).
//   - A mark whose owner died runs out; the next caller that meets it removes it.
//   - A rename changes two records one after the other, and whoever meets one of them in
//     between finishes it or takes it back (rename.go).
//   - Versions of tables that are managed here are entered in the table's record before they
//     are made (ledger.go).
//   - What a batch does to several tables is put into their records first, where it means
//     nothing until one put of one object has decided about all of it (batch.go, pending.go).
//   - A table's location is never used twice: it carries a random part, so that deleting
//     the data of a dropped table cannot meet the data of a new one of the same name. Places
//     that somebody names are claimed before they are used (claim.go).
package catalog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A Catalog is the names of one deployment. It is safe for concurrent use. All it keeps
// are records as last seen, which are checked each time (see Lookup).
type Catalog struct {
	roots   *objectstore.Roots
	store   objectstore.Store // the home root's: where the records are
	now     func() time.Time
	lookups *otter.Cache[string, lookedUp] // by key
	folders *otter.Cache[string, []string] // ids of the tables that had them lately; see tableIn

	placesKnown atomic.Bool // see knowPlaces

	firstPause time.Duration // as the constant says, but in tests
}

// Open returns the catalog whose records lie under the home root.
func Open(roots *objectstore.Roots, now func() time.Time) *Catalog {
	return &Catalog{
		roots: roots, store: roots.Home().Store, now: now,
		lookups:    otter.Must(&otter.Options[string, lookedUp]{MaximumSize: maxLookups}),
		folders:    otter.Must(&otter.Options[string, []string]{MaximumSize: maxLookups}),
		firstPause: firstPause,
	}
}

// read loads a record into v and returns its ETag; objectstore.ErrNotExist when there is
// none.
func (c *Catalog) read(ctx context.Context, key string, v any) (etag string, err error) {
	data, info, err := c.store.Get(ctx, key)
	if err != nil {
		return "", fmt.Errorf("read record: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return "", fmt.Errorf("read record %s: %w", key, err)
	}
	return info.ETag, nil
}

// write puts a record if cond holds. When the answer of the put was lost it reads back
// what is there: our own record, which carries an id that nobody else has, is success.
func (c *Catalog) write(ctx context.Context, key string, record any, cond objectstore.Condition) (etag string, err error) {
	data, err := encode(record)
	if err != nil {
		return "", fmt.Errorf("encode record %s: %w", key, err)
	}
	info, err := c.store.Put(ctx, key, data, cond)
	if errors.Is(err, objectstore.ErrUnknownOutcome) {
		return c.settle(ctx, key, data, cond, err)
	}
	if err != nil {
		return "", fmt.Errorf("write record: %w", err)
	}
	return info.ETag, nil
}

// settle reads back what a put whose answer was lost may have written. Where the record
// is as it was before, the put may still come to pass: nobody knows. Nor does anybody where
// there should have been none and there is another's: once that is gone, a put that is still
// on its way makes ours. A put in place of a certain record cannot happen after that is gone:
// no record is ever the same again.
func (c *Catalog) settle(ctx context.Context, key string, data []byte, cond objectstore.Condition, cause error) (etag string, err error) {
	there, info, err := c.store.Get(ctx, key)
	missing := errors.Is(err, objectstore.ErrNotExist)
	switch {
	case err == nil && string(there) == string(data):
		return info.ETag, nil
	case cond.IfMatch != "" && (missing || err == nil && info.ETag != cond.IfMatch):
		return "", fmt.Errorf("write record: %w", objectstore.ErrPrecondition)
	}
	return "", unsettled(errors.Join(cause, err))
}

// remove deletes a record of that uid if it still has that ETag; another one, or none, is an
// error that is gone. When the answer was lost, a record that is not there any more counts as
// deleted: by us, or by somebody who wanted the same.
func (c *Catalog) remove(ctx context.Context, key, uid, etag string) error {
	vanished, err := c.tryRemove(ctx, key, uid, etag)
	if vanished {
		return nil
	}
	return err
}

// tryRemove is remove for who has to know whose deletion it was: a record has vanished when
// the answer was lost and it is not there any more, nor what it was changed into. The error is
// then one that is unsettled.
func (c *Catalog) tryRemove(ctx context.Context, key, uid, etag string) (vanished bool, err error) {
	cause := c.store.Delete(ctx, key, objectstore.Condition{IfMatch: etag})
	if cause == nil {
		return false, nil
	}
	if !errors.Is(cause, objectstore.ErrUnknownOutcome) {
		return false, fmt.Errorf("delete record: %w", cause)
	}
	var there struct {
		UID string `json:"uid"`
	}
	now, err := c.read(ctx, key, &there)
	if err == nil && there.UID == uid && now != etag {
		return false, fmt.Errorf("delete record: %w", objectstore.ErrPrecondition)
	}
	vanished = errors.Is(err, objectstore.ErrNotExist) || err == nil && there.UID != uid
	return vanished, unsettled(errors.Join(cause, err))
}

// unsettled is the error of a change that may have been made, or may yet be. It is no longer
// any of what led to it, such as a precondition that our own first attempt broke.
func unsettled(cause error) error {
	cause = fmt.Errorf("%w: %s", objectstore.ErrUnknownOutcome, cause.Error())
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "the storage did not tell whether the write happened",
		Detail: "look before you retry", Unsettled: true, Err: cause,
	}
}

// newUID returns a name that nothing else has: 96 random bits.
func newUID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails: the program ends first
	return hex.EncodeToString(b[:])
}

// display joins an id for messages.
func display(id []string) string {
	if len(id) == 0 {
		return "the root namespace"
	}
	return strings.Join(id, "$")
}

// hasCode says whether err is a protocol error with the code.
func hasCode(err error, code protocol.Code) bool {
	return err != nil && protocol.CodeOf(err) == code
}

func isRoot(id []string) bool { return len(id) == 0 }

func parentOf(id []string) []string { return id[:len(id)-1] }

// lostRace is the answer when a record changed between our read and our write.
func lostRace(what string, id []string, err error) error {
	return &protocol.Error{
		Code:    protocol.ConcurrentModification,
		Message: fmt.Sprintf("%s %s was changed by another request", what, display(id)),
		Detail:  "another request changed it at the same time; read it again and retry",
		Err:     err,
	}
}
