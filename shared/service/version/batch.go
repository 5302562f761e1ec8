package version

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/batch"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
)

// batchFanOut bounds the tables of a batch that are read in parallel.
const batchFanOut = 32

// BatchCreate turns staged manifests into versions of their tables, all of them or none. A repeated
// request gets the answer of the first one.
func (s *Service) BatchCreate(ctx context.Context, req *versionapi.BatchCreateRequest) (*versionapi.BatchCreateResponse, error) {
	operations := make([]versionapi.CommitOperation, len(req.Entries))
	for i := range req.Entries {
		e := &req.Entries[i]
		operations[i].Create = &versionapi.CreateRequest{Common: protocol.Common{ID: e.ID}, Staged: e.Staged}
	}
	done, err := s.commit(ctx, operations)
	if err != nil {
		return nil, err
	}
	answer := new(versionapi.BatchCreateResponse)
	for _, p := range done {
		answer.Versions = append(answer.Versions, p.entry())
	}
	answer.TransactionID = s.tables.Transactions.IDOfChange(ctx, batchChange("batch-create", done))
	return answer, nil
}

// batchChange returns the change that identifies the transaction of a batch.
func batchChange(operation string, done []*prepared) transaction.Change {
	return transaction.Change{Operation: operation, Properties: map[string]string{"operations": strconv.Itoa(len(done))}}
}

// prepared is an operation of a batch: its inputs and, after the commit, its result.
type prepared struct {
	batch.Operation
	table  *catalog.Table // the table to change; nil before a declaration
	staged *staged        // set if the operation makes a version
	result catalog.BatchResult
}

// entry describes the version that the operation made.
func (p *prepared) entry() versionapi.Version {
	e := entry(p.table, listing.Version{Number: p.staged.Version, Info: p.result.Version})
	e.Metadata = p.staged.metadata
	return e
}

// commit applies all operations together, or none of them.
func (s *Service) commit(ctx context.Context, operations []versionapi.CommitOperation) ([]*prepared, error) {
	// The request identifies the batch, so that a repetition finds it.
	request, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("digest of the batch: %w", err)
	}
	done, err := s.prepare(ctx, operations)
	if err != nil {
		return nil, err
	}
	batch := &batch.Batch{Request: request}
	for _, p := range done {
		batch.Operations = append(batch.Operations, p.Operation)
	}
	results, err := s.tables.Names.CommitBatch(ctx, batch)
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(batchFanOut)
	for i, p := range done {
		p.result = results[i]
		if p.staged != nil {
			// The manifest is a version now, and its staged copy is garbage.
			group.Go(func() error {
				p.staged.discard(ctx, p.table.Location)
				return nil
			})
		}
		if p.Delete != nil && p.UID != "" {
			// Cached copies of deleted versions must not be read any more.
			s.tables.At(p.table).Data().Forget(p.Delete...)
		}
	}
	_ = group.Wait()
	return done, nil
}

// prepare finds the tables of a batch and reads their staged manifests.
func (s *Service) prepare(ctx context.Context, operations []versionapi.CommitOperation) ([]*prepared, error) {
	found := make([]*prepared, len(operations))
	errs := make([]error, len(operations))
	declared, err := s.declarations(ctx, operations)
	if err != nil {
		return nil, err
	}
	memory := newBudget(maxBatchBytes)
	var group errgroup.Group
	group.SetLimit(batchFanOut)
	for i := range operations {
		group.Go(func() error {
			found[i], errs[i] = s.prepareOne(ctx, &operations[i], declared[key(operations[i].TableID())], memory)
			return nil
		})
	}
	_ = group.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, inEntry(i, err)
		}
	}
	return found, nil
}

// key turns an id into a map key. Ids contain no zero bytes.
func key(id []string) string { return protocol.JoinID(id, "\x00") }

// declarations returns the tables that a batch declares, by key.
func (s *Service) declarations(ctx context.Context, operations []versionapi.CommitOperation) (map[string]*catalog.Table, error) {
	planned := map[string]*catalog.Table{}
	for i, op := range operations {
		if op.Declare == nil || planned[key(op.Declare.ID)] != nil {
			continue
		}
		at, err := s.tables.Names.Places.Planned(ctx, op.Declare.ID, op.Declare.Location)
		if err != nil {
			return nil, inEntry(i, err)
		}
		planned[key(op.Declare.ID)] = &catalog.Table{ID: op.Declare.ID, Location: at, Properties: op.Declare.Properties}
	}
	return planned, nil
}

// prepareOne prepares one operation. declared is its table if the same batch declares it.
func (s *Service) prepareOne(ctx context.Context, op *versionapi.CommitOperation, declared *catalog.Table, memory *budget) (*prepared, error) {
	p := &prepared{Operation: batch.Operation{ID: op.TableID()}, table: declared}
	switch {
	case op.Declare != nil:
		p.Declare = &batch.Declaration{Location: declared.Location, Named: op.Declare.Location != "", Properties: op.Declare.Properties}
		return p, nil
	case op.Deregister != nil:
		p.Deregister = true
		return p, nil
	}
	if declared == nil {
		t, err := s.tables.Names.Table(ctx, op.TableID())
		if err != nil {
			return nil, err
		}
		p.table, p.UID = t, t.UID
	}
	if op.Delete != nil {
		return p, s.prepareDelete(ctx, p, op.Delete)
	}
	if protocol.BranchName(op.Create.Branch) != "" {
		return nil, errBranchInBatch
	}
	var err error
	if p.staged, err = read(ctx, p.table, p.table.Location, &op.Create.Staged, memory); err != nil {
		return nil, err
	}
	p.Create = &p.staged.Manifest
	if p.UID == "" {
		return p, nil // the record of a declared table is annotated from the start
	}
	return p, s.annotate(ctx, p.table, p.staged)
}

// errBranchInBatch refuses versions of a branch. A batch commits through records, but the files in
// a branch's folder alone define the versions of the branch.
var errBranchInBatch = &protocol.Error{
	Code: protocol.InvalidInput, Message: "a batch cannot make or delete versions of a branch",
	Detail: "use version/create and version/delete, which take a branch, for one version at a time",
}

// inEntry adds to an error the number of the batch entry that caused it.
func inEntry(i int, err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return fmt.Errorf("entry %d of the batch: %w", i, err)
	}
	named := *known
	named.Object, named.Message = "", fmt.Sprintf("entry %d of the batch: %s", i, known.Text())
	return &named
}
