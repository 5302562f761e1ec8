package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A batch changes several tables, all of them or none: it makes and deletes versions, and
// declares and deregisters tables. What it is to do to a table is put into the record of the
// table (pending.go), where the name of the batch says that it is not to be done yet. Then one
// object is put, if it is absent, which says how the batch ended:
//
//	_batches/<batch>    {"outcome": "committed" or "aborted", …}
//
// That is the commit point. Of two who put it one wins, and nobody ever changes it: so what
// became of a batch is the same for all, for good. While there is none the batch has not been
// decided, and what it is to do means nothing. Whoever reads the record of a table that a
// batch is about reads that object too, and when the batch
//
//   - was committed: does what the record says and takes the batch out of it, before he looks
//     at the table;
//   - was aborted: takes it out;
//   - is undecided: leaves it, or, when the maker of the batch has not been heard of for its
//     lease, aborts the batch.
//
// A maker that was thought dead finds his batch aborted, and a maker of a batch that
// committed may die at once: whoever comes to one of its tables does the rest there.
//
// A table without a ledger gets one with the first versions that a batch makes of it. Writers
// that have looked at its record before do not know, and what they put makes the version. The
// batch therefore waits a little, until they have most likely put it, and then looks once more
// whether one of them has, or anybody who writes past the catalog, just before it is decided.
// What is put between this look and the last put of the batch has made the version, and is
// never overwritten: the batch's own gives way to it, and its maker, if he lives, is told.
//
// That cannot be ruled out. A put that is on its way to a free key may be carried out at any
// time, unless there is something at that key. What the batch could put there would be seen by
// those who read the table directly, before the batch is decided; and what another has put
// there cannot be replaced afterwards, since he may have been told that he made the version,
// and others may have read it. It can happen once in the life of a table.
//
// The name of a batch begins with a digest of what was asked for. A request that is repeated,
// because its answer was lost, finds its versions in the ledgers, its tables marked as made
// by it, and for those that it removed, which leave nothing behind, its decision.

// A Batch is what is to be done together.
type Batch struct {
	// Request is the same for requests that ask for the same, and else different.
	Request    []byte
	Operations []Operation
}

// An Operation of a batch has exactly one of Create, Declare, Delete and Deregister. Those on
// one table are done in their order; a table that is deregistered may be declared again, but
// not be changed before.
type Operation struct {
	ID []string // of the table
	// Table is what ID stood for when a version was staged or versions were chosen; nil when
	// the batch itself declares it.
	Table      *Table
	Create     *Manifest          // a version
	Declare    *Declaration       // a table
	Delete     []objectstore.Info // manifests of versions, when none of the others is there
	Deregister bool
}

// A Declaration is a table to be.
type Declaration struct {
	Location   objectstore.Location
	Named      bool // somebody has named the location, so that it may be that of another table
	Properties map[string]string
}

// A Result tells what an operation did.
type Result struct {
	Version objectstore.Info // the manifest of a version that was made
	Table   *Table           // that was declared or deregistered
}

// A share is what a batch does to one table.
type share struct {
	id         []string
	operations []int // of the batch
	declare    *tableRecord
	named      *objectstore.Location // of declare, when somebody has named it
	claimed    *claim                // of that
	deregister bool
	next       []entry            // versions to make, ascending
	versions   []int              // the operations that they are of
	old        []objectstore.Info // versions to delete
	deletes    bool               // also if there are none

	at     objectstore.Location // of the versions
	first  bool                 // the table gets its ledger
	record *tableRecord         // with what is pending
	etag   string
	before bool         // all of it was done before, by a batch of the same request
	made   *tableRecord // then: what was declared
	gone   *tableRecord // and what was deregistered
	done   *finished
}

// neutral says whether a share does not tell if the batch was done before: to delete what is
// gone is nothing.
func (s *share) neutral() bool {
	return s.declare == nil && !s.deregister && len(s.next) == 0
}

// A running batch.
type running struct {
	*Batch
	name    string // <digest of the request>-<random>
	request string
	shares  []*share
	asked   bool // to be decided
}

// CommitBatch does all operations, or none, and returns their results in the same order. An
// error is that of the first table that has one, and names the operation. What was all done
// before, by a batch of the same request, is done again by doing nothing.
func (c *Catalog) CommitBatch(ctx context.Context, batch *Batch) ([]Result, error) {
	b, err := c.begin(batch)
	if err != nil {
		return nil, err
	}
	if err = c.putCopies(ctx, b); err == nil {
		err = b.eachShare(ctx, func(ctx context.Context, s *share) error { return c.enter(ctx, b, s) })
	}
	fresh := err == nil && !b.doneBefore()
	if fresh {
		err = c.commitEntered(ctx, b)
	}
	finishing, done := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer done()
	switch {
	case err != nil && b.asked && protocol.CodeOf(err) == protocol.ServiceUnavailable: // it may have been committed
		return nil, err
	case err != nil:
		c.retreat(finishing, b)
		return nil, err
	case !fresh:
		c.retreat(finishing, b)
	default:
		if err := c.finishAll(finishing, b); err != nil {
			return nil, err
		}
	}
	return c.results(finishing, b), nil
}

// begin sorts operations by table.
func (c *Catalog) begin(batch *Batch) (*running, error) {
	sum := sha256.Sum256(batch.Request)
	b := &running{Batch: batch, request: hex.EncodeToString(sum[:16])}
	b.name = b.request + "-" + newUID()
	byTable := map[string]*share{}
	for i := range batch.Operations {
		op := &batch.Operations[i]
		s := byTable[tableKey(op.ID)]
		if s == nil {
			s = &share{id: op.ID}
			byTable[tableKey(op.ID)] = s
			b.shares = append(b.shares, s)
		}
		s.operations = append(s.operations, i)
		if err := c.add(b, s, op); err != nil {
			return nil, inBatch(i, err)
		}
	}
	for _, s := range b.shares {
		slices.SortStableFunc(s.versions, func(a, z int) int {
			return int(int64(batch.Operations[a].Create.Version) - int64(batch.Operations[z].Create.Version))
		})
	}
	return b, nil
}

// add takes an operation into the share of its table, after those before.
func (c *Catalog) add(b *running, s *share, op *Operation) error {
	i := s.operations[len(s.operations)-1]
	changed := len(s.versions) > 0 || s.deletes
	switch {
	case op.Deregister && (s.declare != nil || changed):
		return protocol.Errorf(protocol.InvalidInput, "a table that a batch declares or changes cannot be deregistered by it after that")
	case op.Deregister && s.deregister, !op.Deregister && op.Declare == nil && s.deregister && s.declare == nil:
		return tableMissing(s.id)
	case op.Deregister:
		s.deregister = true
	case op.Declare != nil && (s.declare != nil || changed):
		return TableExists(s.id)
	case op.Declare != nil:
		s.declare = c.newRecord(s.id, op.Declare.Location, 0, op.Declare.Properties)
		s.declare.MadeBy = b.request
		if op.Declare.Named {
			s.named = &op.Declare.Location
		}
	case op.Create != nil:
		s.versions = append(s.versions, i)
		if s.declare != nil && op.Create.Noted {
			s.declare.Annotated = true
		}
	default:
		s.old, s.deletes = append(s.old, op.Delete...), true
	}
	return nil
}

// doneBefore says whether all of the batch was done by one before it.
func (b *running) doneBefore() bool {
	known := false
	for _, s := range b.shares {
		if !s.neutral() && !s.before {
			return false
		}
		known = known || s.before
	}
	return known
}

// eachShare does work for all shares, several at a time, and returns the error of the first.
func (b *running) eachShare(ctx context.Context, work func(context.Context, *share) error) error {
	errs := make([]error, len(b.shares))
	var group errgroup.Group
	group.SetLimit(batchFanOut)
	for i, s := range b.shares {
		group.Go(func() error {
			errs[i] = work(ctx, s)
			return nil
		})
	}
	_ = group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// putCopies keeps the manifests where others find them.
func (c *Catalog) putCopies(ctx context.Context, b *running) error {
	return b.eachShare(ctx, func(ctx context.Context, s *share) error {
		for _, i := range s.versions {
			m := b.Operations[i].Create
			e := entry{Version: m.Version, Name: m.name(), Source: m.Source}
			if m.Data != nil {
				var err error
				if e.Copy, err = c.putCopy(ctx, *m); err != nil {
					return err
				}
			}
			s.next = append(s.next, e)
		}
		return nil
	})
}

// inBatch says which operation an error is about.
func inBatch(i int, err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return fmt.Errorf("entry %d of the batch: %w", i, err)
	}
	named := *known
	named.Message = fmt.Sprintf("entry %d of the batch: %s", i, known.Text())
	named.Object = ""
	return &named
}

// commitEntered decides a batch that is in all records.
func (c *Catalog) commitEntered(ctx context.Context, b *running) error {
	if slices.ContainsFunc(b.shares, func(s *share) bool { return s.first }) {
		if err := sleep(ctx, c.firstPause); err != nil {
			return err
		}
	}
	if err := b.eachShare(ctx, lookAgain); err != nil {
		return err
	}
	if err := b.eachShare(ctx, c.confirmShare); err != nil {
		return err
	}
	want := decision{Outcome: committed}
	for _, s := range b.shares {
		if s.record != nil {
			want.Tables = append(want.Tables, s.id)
		}
		if s.deregister && s.record != nil {
			removed := *s.record
			removed.Pending, removed.Ledger = nil, nil
			want.Removed = append(want.Removed, &removed)
		}
	}
	b.asked = true
	switch ended, err := c.decide(ctx, b.name, want); {
	case err != nil:
		return unsettled(err)
	case ended == aborted:
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: "the batch was ended by another writer of one of its tables",
			Detail: "nothing of it was done; read the tables again and retry",
		}
	}
	return nil
}

// firstPause is how long a batch waits for writers that do not know of it: longer than most
// of them take between a look at the record and the answer to their put.
const firstPause = 500 * time.Millisecond

// lookAgain refuses what was done by another batch before, in part, and versions that have
// been made by writers that do not heed the ledger.
func lookAgain(ctx context.Context, s *share) error {
	if s.before {
		return inBatch(s.operations[0], &protocol.Error{
			Code: protocol.ConcurrentModification, Message: fmt.Sprintf("this was done to table %s before, and the rest of the batch was not", display(s.id)),
			Detail: "ask for the rest alone",
		})
	}
	if len(s.next) == 0 {
		return nil
	}
	newest, err := newestVersion(ctx, s.at)
	if err == nil && newest >= s.next[0].Version {
		err = notNext(s.id, s.next[0].Version, newest)
	}
	if err != nil {
		return inBatch(s.versions[0], err)
	}
	return nil
}

// retreat takes a batch that will not be committed out of the records, as far as it is still
// in them.
func (c *Catalog) retreat(ctx context.Context, b *running) {
	_ = b.eachShare(ctx, func(ctx context.Context, s *share) error {
		if s.claimed != nil {
			c.release(ctx, s.claimed)
		}
		if s.record != nil {
			_, _ = c.finish(ctx, s.record, s.etag, aborted)
		} else {
			c.deleteCopies(ctx, s.next)
		}
		c.lookups.Invalidate(tableKey(s.id))
		return nil
	})
}

// finishAll does what a batch that was committed is about. What it fails at is done by whoever
// comes to the table; then the decision has to stay, as it has for repetitions when tables
// were removed. The error is about versions that gave way to others.
func (c *Catalog) finishAll(ctx context.Context, b *running) error {
	err := b.eachShare(ctx, func(ctx context.Context, s *share) error {
		done, err := c.finish(ctx, s.record, s.etag, committed)
		s.done = done
		c.lookups.Invalidate(tableKey(s.id))
		return err
	})
	if err == nil && !slices.ContainsFunc(b.shares, func(s *share) bool { return s.deregister }) {
		_ = c.store.Delete(ctx, batchesPrefix+b.name, objectstore.Condition{}) // nobody will ask
	}
	for _, s := range b.shares {
		if s.done != nil && s.done.after != nil && s.done.after.Ledger != nil && len(s.done.after.Ledger.Next) < len(s.next) {
			return inBatch(s.versions[0], &protocol.Error{
				Code: protocol.ConcurrentModification, Message: fmt.Sprintf("another writer made a version of table %s in the same moment, past the catalog", display(s.id)),
				Detail: "its version stays, and the batch's of that table came to nothing; the rest of the batch was done",
			})
		}
	}
	return nil
}

// until is when others may end a batch that begins now.
func (c *Catalog) until() time.Time { return c.now().Add(batchLease).UTC() }
