package batch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// running is a batch that is being committed.
type running struct {
	*Batch
	name    string // <digest of the request>-<random>
	request string
	tables  []*batchTable
	asked   bool // the decision has been requested
}

// A batchTable collects the operations of a batch on one table.
type batchTable struct {
	id         []string
	operations []int // indices of the operations in the batch
	declare    *stored.Table
	named      *objectstore.Location // location of declare, if the client chose it
	claimed    *claim.Claim          // the claim on named
	deregister bool
	next       []ledger.Entry     // versions to make, ascending
	versions   []int              // indices of the operations that make next
	old        []objectstore.Info // versions to delete
	deletes    bool               // some operation deletes versions, even if old is empty

	at     objectstore.Location // location of the versions
	first  bool                 // the table gets its ledger from this batch
	record *stored.Table        // the record with the batch in it
	etag   string
	before bool          // an earlier batch of the same request has done all of this
	made   *stored.Table // then: the record that was declared
	gone   *stored.Table // and the record that was deregistered
	done   *naming.Finished
}

// neutral reports whether the operations only delete versions. After the fact nobody can see
// whether this batch or an earlier one deleted them.
func (s *batchTable) neutral() bool {
	return s.declare == nil && !s.deregister && len(s.next) == 0
}

// batchFanOut bounds the tables of a batch that are processed in parallel.
const batchFanOut = 32

// begin groups the operations by table.
func (c *Committer) begin(batch *Batch) (*running, error) {
	sum := sha256.Sum256(batch.Request)
	b := &running{Batch: batch, request: hex.EncodeToString(sum[:16])}
	b.name = b.request + "-" + objects.NewUID()
	byTable := map[string]*batchTable{}
	for i := range batch.Operations {
		op := &batch.Operations[i]
		s := byTable[keys.Table(op.ID)]
		if s == nil {
			s = &batchTable{id: op.ID}
			byTable[keys.Table(op.ID)] = s
			b.tables = append(b.tables, s)
		}
		s.operations = append(s.operations, i)
		if err := c.add(b, s, op); err != nil {
			return nil, inBatch(i, err)
		}
	}
	for _, s := range b.tables {
		slices.SortStableFunc(s.versions, func(a, z int) int {
			return int(int64(batch.Operations[a].Create.Version) - int64(batch.Operations[z].Create.Version))
		})
	}
	return b, nil
}

// add adds the last operation of s.operations to the state of its table. It returns InvalidInput
// for a sequence of operations that makes no sense, such as a change after a deregistration.
func (c *Committer) add(b *running, s *batchTable, op *Operation) error {
	i := s.operations[len(s.operations)-1]
	changed := len(s.versions) > 0 || s.deletes
	switch {
	case op.Deregister && (s.declare != nil || changed):
		return protocol.Errorf(protocol.InvalidInput, "a batch that declares or changes a table cannot deregister it after that")
	case op.Deregister && s.deregister, !op.Deregister && op.Declare == nil && s.deregister && s.declare == nil:
		return naming.TableMissing(s.id)
	case op.Deregister:
		s.deregister = true
	case op.Declare != nil && (s.declare != nil || changed):
		return naming.TableExists(s.id)
	case op.Declare != nil:
		s.declare = c.names.NewTable(s.id, op.Declare.Location, 0, op.Declare.Properties)
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

// doneBefore reports whether an earlier batch of the same request has done all of this one.
func (b *running) doneBefore() bool {
	known := false
	for _, s := range b.tables {
		if !s.neutral() && !s.before {
			return false
		}
		known = known || s.before
	}
	return known
}

// eachTable calls work for all tables, several in parallel, and returns the error of the first
// table, in the order of the batch, that failed.
func (b *running) eachTable(ctx context.Context, work func(context.Context, *batchTable) error) error {
	errs := make([]error, len(b.tables))
	var group errgroup.Group
	group.SetLimit(batchFanOut)
	for i, s := range b.tables {
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

// putCopies stores copies of the staged manifests, so that any process can finish the batch.
func (c *Committer) putCopies(ctx context.Context, b *running) error {
	return b.eachTable(ctx, func(ctx context.Context, s *batchTable) error {
		for _, i := range s.versions {
			m := b.Operations[i].Create
			e := ledger.Entry{Version: m.Version, Name: m.Name(), Source: m.Source}
			if m.Data != nil {
				var err error
				if e.Copy, err = c.names.Writer.PutCopy(ctx, *m); err != nil {
					return err
				}
			}
			s.next = append(s.next, e)
		}
		return nil
	})
}

// inBatch adds the number of the failed operation to an error.
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

// until returns the time from which other processes may abort a batch that begins now.
func (c *Committer) until() time.Time { return c.names.Now().Add(naming.BatchLease).UTC() }

// inTable adds the number of the table's first operation to an error.
func inTable(s *batchTable, err error) error {
	if err == nil {
		return nil
	}
	return inBatch(s.operations[0], err)
}
