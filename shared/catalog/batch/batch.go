// Package batch commits operations on several tables together, all of them or none: it makes and
// deletes versions, and declares and deregisters tables. A batch first writes its operations on a
// table into the record of that table ([stored.Pending]), under the name of the batch, which means
// that they are not in effect yet. Then it puts one object, if absent, that holds the outcome of
// the batch:
//
//	_batches/<batch>    {"outcome": "committed" or "aborted", …}
//
// This put is the commit point. If two writers put the object, one of them wins, and no writer ever
// replaces it, so the outcome of a batch is the same for all readers and for good. As long as the
// object is missing the batch is undecided, and its operations are not in effect. A reader that
// finds a batch in the record of a table reads the outcome too. When the batch
//
//   - was committed, the reader first carries out the operations in the record and takes the
//     batch out of it;
//   - was aborted, the reader takes the batch out of the record;
//   - is undecided, the reader leaves the record as it is. If the lease of the batch has run
//     out, the reader aborts the batch.
//
// So the process that made a batch may crash at any time. If it was only slow, it finds its batch
// aborted; if the batch was committed, the next reader of each table carries out the rest.
//
// A table without a ledger gets one with the first versions that a batch makes of it. Writers that
// have read the record before do not know of the ledger, and a manifest that they put becomes the
// version. The batch therefore waits until these writers have most likely finished. Right before
// its decision it looks again for versions by them or by any writer that does not use the catalog.
// A manifest that arrives between this look and the last put of the batch becomes the version and
// is never overwritten: the manifest of the batch gives way, and the caller of the batch gets an
// error.
//
// This race cannot be closed. A put that is under way to a free key can succeed at any time as long
// as no object has that key. The batch cannot put an object there before its decision, because
// readers that open the table directly would see it. It cannot replace the object of another writer
// afterwards either, because that writer may have been told that its version exists, and others may
// have read it. The race can occur once in the life of a table.
//
// The name of a batch begins with a digest of its request. A request that is repeated, because its
// answer was lost, thus finds its versions in the ledgers, and its tables with a mark that names
// the request. Tables that it deregistered leave no record; for those it finds its decision.
package batch

import (
	"context"
	"time"

	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// A Committer commits batches.
type Committer struct {
	names      *naming.Registry
	FirstPause time.Duration // the constant FirstPause, except in tests
}

// New returns a committer for the tables of a registry.
func New(names *naming.Registry) *Committer {
	return &Committer{names: names, FirstPause: FirstPause}
}

// A Batch is a set of operations that take effect together.
type Batch struct {
	// Request identifies the request: requests with equal contents, and only they, have equal bytes.
	Request    []byte
	Operations []Operation
}

// An Operation has exactly one of Create, Declare, Delete and Deregister. The operations on one
// table are applied in order. A deregistered table may be declared again, but may not be changed
// before that.
type Operation struct {
	ID []string // names the table
	// UID identifies the table when its versions were staged or chosen, so that a table that has taken
	// the name since is refused. It is "" if the batch itself declares the table.
	UID        string
	Create     *ledger.Manifest   // makes a version
	Declare    *Declaration       // makes a table
	Delete     []objectstore.Info // deletes versions; used when the other three are nil
	Deregister bool
}

// A Declaration describes a table that a batch declares.
type Declaration struct {
	Location   objectstore.Location
	Named      bool // the client chose the location, which may therefore belong to another table
	Properties map[string]string
}

// A Result is the outcome of an operation.
type Result struct {
	Version objectstore.Info // the manifest of the version that was made
	Record  *stored.Table    // the table that was declared or deregistered
}

// Commit applies all operations or none, and returns their results in the same order. An error
// comes from the first table that fails, and names the operation. If an earlier batch of the same
// request has committed, Commit changes nothing and returns the same results.
func (c *Committer) Commit(ctx context.Context, batch *Batch) ([]Result, error) {
	b, err := c.begin(batch)
	if err != nil {
		return nil, err
	}
	if err = c.putCopies(ctx, b); err == nil {
		err = b.eachTable(ctx, func(ctx context.Context, s *batchTable) error { return c.enter(ctx, b, s) })
	}
	fresh := err == nil && !b.doneBefore()
	if fresh {
		err = c.commitEntered(ctx, b)
	}
	finishing, done := context.WithTimeout(context.WithoutCancel(ctx), ledger.FinishTime)
	defer done()
	switch {
	case err != nil && b.asked && protocol.CodeOf(err) == protocol.ServiceUnavailable: // the batch may have been committed
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
