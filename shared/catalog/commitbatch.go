package catalog

import (
	"context"

	"tiltyard/shared/catalog/batch"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/storage/objectstore"
)

// A BatchResult is the outcome of an operation of a batch.
type BatchResult struct {
	Version objectstore.Info // the manifest of the version that was made
	Table   *Table           // the table that was declared or deregistered
}

// CommitBatch applies all operations of a batch or none, and returns their results in the same
// order. It converts the results of [batch.Committer.Commit] to tables.
func (c *Catalog) CommitBatch(ctx context.Context, b *batch.Batch) ([]BatchResult, error) {
	for _, op := range b.Operations {
		if op.Declare != nil {
			if err := upkeep.Check(op.Declare.Properties); err != nil {
				return nil, err
			}
		}
	}
	committed, err := c.batches.Commit(ctx, b)
	if err != nil {
		return nil, err
	}
	results := make([]BatchResult, len(committed))
	for i, one := range committed {
		results[i].Version = one.Version
		if one.Record != nil {
			results[i].Table = c.resolved(one.Record)
		}
	}
	return results, nil
}

// resolved converts a record to a table. If its location is no longer configured, the table has
// only the text of the location.
func (c *Catalog) resolved(record *stored.Table) *Table {
	table, err := c.table(record)
	if err != nil {
		return &Table{ID: record.ID, Properties: record.Properties, Location: objectstore.Location{URI: record.Location}}
	}
	return table
}
