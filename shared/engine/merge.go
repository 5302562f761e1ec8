package engine

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/gather"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A Merge says how rows from outside, the source, are merged into a table.
type Merge struct {
	On        []string // columns whose values make a row of the source and one of the table match
	UpdateAll bool     // a row that matches is replaced by the one of the source
	InsertAll bool     // a row of the source that matches none is added
	BySource  bool     // a row of the table that matches none is deleted
}

// maxMergeAttempts bounds how often a merge is worked out anew because others changed
// its rows, or added some that may match.
const maxMergeAttempts = 25

// Merge merges rows into the table as one commit. A null key matches nothing. Rows of the
// source that match one row of the table and each other are InvalidInput when that row
// would be updated: which of them would win?
//
// The source is held in memory. The merge is of the newest version: when others commit
// rows that may matter while it is worked out, it is worked out again.
func (t *Table) Merge(ctx context.Context, rows dataset.Rows, spec Merge, confirm func() error) (Written, error) {
	if !spec.UpdateAll && !spec.InsertAll && !spec.BySource {
		return Written{}, protocol.Errorf(protocol.InvalidInput,
			"the merge would change nothing: set when_matched_update_all, when_not_matched_insert_all or when_not_matched_by_source_delete")
	}
	// Without a table nothing is taken from the rows: they may be needed to make one.
	if _, err := t.data.Latest(ctx); err != nil {
		return Written{}, t.translate(err)
	}
	source, err := collect(rows.Schema, rows.Batches, t.engine.limits.MergeBytes, "the source of the merge", "merge the rows in several requests")
	if err != nil {
		return Written{}, t.translate(err)
	}
	for range maxMergeAttempts {
		plan, err := Read(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) (*mergePlan, error) {
			return planMerge(ctx, d, source, spec)
		})
		if err != nil {
			return Written{}, err
		}
		commit, err := plan.dataset.Replace(ctx, plan.replacement(ctx), confirm)
		if dataset.IsRowsChanged(err) {
			continue
		}
		done := written(commit)
		done.Updated, done.Inserted, done.Deleted = plan.updated, plan.inserted, plan.deleted
		return done, t.translate(err)
	}
	return Written{}, &protocol.Error{
		Code:    protocol.ConcurrentModification,
		Message: fmt.Sprintf("table %s changes faster than rows can be merged into it", t.name),
		Detail:  fmt.Sprintf("other writers changed it %d times while the merge was worked out; retry", maxMergeAttempts),
	}
}

// collect reads all batches into one, of at most so many bytes; beyond it says that what
// is too large, and what to do.
func collect(schema *arrow.Schema, batches iter.Seq2[arrow.RecordBatch, error], maxBytes int64, what, remedy string) (arrow.RecordBatch, error) {
	var all []arrow.RecordBatch
	bytes := int64(0)
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		for _, column := range batch.Columns() {
			bytes += int64(column.Data().SizeInBytes())
		}
		if bytes > maxBytes {
			return nil, &protocol.Error{
				Code: protocol.InvalidInput, TooLarge: true,
				Message: fmt.Sprintf("%s is larger than %d bytes", what, maxBytes), Detail: remedy,
			}
		}
		all = append(all, batch)
	}
	return gather.Concat(schema, all)
}

// A mergePlan is which rows of the source go in and which of the version go out.
type mergePlan struct {
	dataset *dataset.Dataset
	source  arrow.RecordBatch
	deletes []uint64 // addresses
	inserts []merged // in the order of the source
	missing []string // columns of the table that the source does not have

	updated, inserted, deleted int64
}

// merged is a row to be written: of the source, and in place of which row of the table.
type merged struct {
	row      int32
	replaces uint64 // address; notReplacing for a new row
}

const notReplacing = ^uint64(0)

// planMerge matches the source with a version of the table.
func planMerge(ctx context.Context, d *dataset.Dataset, source arrow.RecordBatch, spec Merge) (*mergePlan, error) {
	match, err := d.Schema().Match(source.Schema())
	if err != nil {
		return nil, err
	}
	keys, err := newKeys(d, source, spec.On)
	if err != nil {
		return nil, err
	}
	p := &mergePlan{dataset: d, source: source}
	for _, f := range d.Schema().Fields {
		if match.Schema.Field(f.Name) == nil {
			p.missing = append(p.missing, f.Name)
		}
	}
	matches, unmatched, err := keys.scan(ctx, d, spec.BySource)
	if err != nil {
		return nil, err
	}
	return p, p.decide(keys, matches, unmatched, spec)
}

// decide applies the clauses of the merge to what matched.
func (p *mergePlan) decide(keys *keys, matches []matched, unmatched []uint64, spec Merge) error {
	p.deletes, p.deleted = unmatched, int64(len(unmatched))
	replaced := make([][]uint64, p.source.NumRows())
	hit := make([]bool, p.source.NumRows())
	for _, m := range matches {
		for row := m.row; row >= 0; row = keys.next[row] {
			hit[row] = true
		}
		if !spec.UpdateAll {
			continue
		}
		if keys.next[m.row] >= 0 {
			return protocol.Errorf(protocol.InvalidInput,
				"the merge is ambiguous: several rows of the source match one row of the table on %s", keys.describe(m.row))
		}
		replaced[m.row] = append(replaced[m.row], m.address)
		p.deletes = append(p.deletes, m.address)
		p.updated++
	}
	for row := range int32(p.source.NumRows()) {
		for _, address := range replaced[row] {
			p.inserts = append(p.inserts, merged{row, address})
		}
		if !hit[row] && spec.InsertAll {
			p.inserts = append(p.inserts, merged{row, notReplacing})
			p.inserted++
		}
	}
	return nil
}

// mergeBatch is how many rows are put together at a time.
const mergeBatch = 1 << 16

// replacement returns what is to be committed. Rows that are inserted depend on there
// being no others that match them, so the commit must not overtake new rows.
func (p *mergePlan) replacement(ctx context.Context) dataset.Replacement {
	r := dataset.Replacement{Delete: p.deletes, Exclusive: p.inserted > 0}
	if len(p.inserts) == 0 {
		return r
	}
	fields := append([]arrow.Field(nil), p.source.Schema().Fields()...)
	for _, name := range p.missing {
		fields = append(fields, p.dataset.Schema().Field(name).Arrow())
	}
	r.Insert.Schema = arrow.NewSchema(fields, nil)
	r.Insert.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for rows := p.inserts; len(rows) > 0; {
			n := min(len(rows), mergeBatch)
			batch, err := p.rows(ctx, rows[:n], r.Insert.Schema)
			if !yield(batch, err) || err != nil {
				return
			}
			rows = rows[n:]
		}
	}
	return r
}

// rows puts rows together: from the source, and where that lacks columns from the rows
// of the table that they replace.
func (p *mergePlan) rows(ctx context.Context, inserts []merged, s *arrow.Schema) (arrow.RecordBatch, error) {
	positions := make([]int32, len(inserts))
	for i, m := range inserts {
		positions[i] = m.row
	}
	mine, err := gather.Batch(p.source, positions)
	if err != nil || len(p.missing) == 0 {
		return mine, err
	}
	var addresses []uint64
	for i, m := range inserts {
		positions[i] = gather.Null
		if m.replaces != notReplacing {
			positions[i] = int32(len(addresses))
			addresses = append(addresses, m.replaces)
		}
	}
	taken, err := p.dataset.Take(ctx, p.missing, addresses)
	if err != nil {
		return nil, err
	}
	theirs, err := gather.Batch(taken, positions)
	if err != nil {
		return nil, err
	}
	return array.NewRecordBatch(s, append(mine.Columns(), theirs.Columns()...), int64(len(inserts))), nil
}
