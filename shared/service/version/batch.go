package version

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// batchFanOut is how many tables of a batch are looked at side by side.
const batchFanOut = 32

// A batched version is an entry of a batch, and what was found of it.
type batched struct {
	*staged
	table *catalog.Table
}

// BatchCreate makes staged manifests versions of their tables, all of them or none. To ask for
// the same again, because the answer was lost, is answered the same.
func (s *Service) BatchCreate(ctx context.Context, req *protocol.BatchCreateTableVersionsRequest) (*protocol.BatchCreateTableVersionsResponse, error) {
	found, err := s.readBatch(ctx, req.Entries)
	if err != nil {
		return nil, err
	}
	entries := make([]catalog.BatchEntry, len(found))
	for i, b := range found {
		entries[i] = catalog.BatchEntry{ID: req.Entries[i].ID, Manifest: b.Manifest}
	}
	infos, err := s.tables.Names.CommitBatch(ctx, entries)
	if err != nil {
		return nil, err
	}
	answer := new(protocol.BatchCreateTableVersionsResponse)
	var group errgroup.Group
	group.SetLimit(batchFanOut)
	for i, b := range found {
		answer.Versions = append(answer.Versions, entry(b.table, engine.Version{Number: b.Version, Info: infos[i]}))
		group.Go(func() error {
			b.discard(ctx, b.table.Location)
			return nil
		})
	}
	_ = group.Wait()
	answer.TransactionID = s.record(context.WithoutCancel(ctx), len(entries))
	return answer, nil
}

// readBatch finds the tables of a batch, and reads what is staged for them.
func (s *Service) readBatch(ctx context.Context, entries []protocol.BatchVersionEntry) ([]batched, error) {
	found := make([]batched, len(entries))
	errs := make([]error, len(entries))
	memory := newBudget(maxBatchBytes)
	var group errgroup.Group
	group.SetLimit(batchFanOut)
	for i := range entries {
		group.Go(func() error {
			found[i], errs[i] = s.readEntry(ctx, &entries[i], memory)
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

func (s *Service) readEntry(ctx context.Context, e *protocol.BatchVersionEntry, memory *budget) (batched, error) {
	if protocol.BranchName(e.Branch) != "" {
		return batched{}, protocol.Errorf(protocol.Unsupported, "a batch cannot make versions of branches")
	}
	t, err := s.tables.Names.Table(ctx, e.ID)
	if err != nil {
		return batched{}, err
	}
	m, err := read(ctx, t, t.Location, &e.StagedVersion, memory)
	return batched{m, t}, err
}

// inEntry says which entry of a batch an error is about.
func inEntry(i int, err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return fmt.Errorf("entry %d of the batch: %w", i, err)
	}
	named := *known
	named.Object, named.Message = "", fmt.Sprintf("entry %d of the batch: %s", i, known.Text())
	return &named
}

// record makes the transaction that a batch was, after the fact, and returns its id: "" when
// it cannot be written, as the batch has not failed.
func (s *Service) record(ctx context.Context, entries int) string {
	t, err := s.tables.Transactions.Begin(ctx, "batch-create", nil)
	if err != nil {
		return ""
	}
	_, err = s.tables.Transactions.Advance(ctx, t.ID, func(t *transaction.Transaction) {
		t.Status = protocol.TransactionSucceeded
		t.Done, t.Total = int64(entries), int64(entries)
	})
	if err != nil {
		return ""
	}
	return t.ID
}
