package engine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

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
	// UpdateIf narrows UpdateAll to the pairs for which it is true. It is an SQL expression over
	// the structs source and target. Empty is no condition.
	UpdateIf string
	// BySourceIf narrows BySource to the rows of the table for which it is true.
	BySourceIf string
}

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
	if err := t.data.Find(ctx); err != nil {
		return Written{}, t.translate(err)
	}
	source, err := collect(rows.Schema, rows.Batches, t.engine.limits.MergeBytes, "the source of the merge", "merge the rows in several requests")
	if err != nil {
		return Written{}, t.translate(err)
	}
	plan, commit, err := change(ctx, t,
		func(ctx context.Context, d *dataset.Dataset) (*mergePlan, error) {
			return planMerge(ctx, d, source, spec)
		},
		func(p *mergePlan) (dataset.Commit, error) {
			return p.dataset.Replace(ctx, p.replacement(ctx), confirm)
		})
	if err != nil {
		return Written{}, err
	}
	done := written(commit)
	done.Updated, done.Inserted, done.Deleted = plan.updated, plan.inserted, plan.deleted
	return done, nil
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
	blobs   bool     // whether the source has some, which say where they are

	updated, inserted, deleted int64
}

// merged is a row to be written: of the source, and in place of which row of the table.
type merged struct {
	row      int32
	replaces uint64 // address; notReplacing for a new row
}

const notReplacing = ^uint64(0)

// kind sorts rows that replace others before new ones.
func (m merged) kind() int {
	if m.replaces == notReplacing {
		return 1
	}
	return 0
}

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
		} else {
			p.blobs = p.blobs || f.HoldsBlobs()
		}
	}
	found, unmatched, err := keys.scan(ctx, d, spec.BySource)
	if err != nil {
		return nil, err
	}
	if spec.BySourceIf != "" {
		if unmatched, err = chosenOf(ctx, d, unmatched, spec.BySourceIf); err != nil {
			return nil, err
		}
	}
	p.deletes, p.deleted = unmatched, int64(len(unmatched))
	pairs := keys.pairs(found)
	p.insertUnmatched(pairs, spec)
	if spec.UpdateAll {
		if spec.UpdateIf != "" {
			if pairs, err = p.pairsWhere(ctx, pairs, spec.UpdateIf); err != nil {
				return nil, err
			}
		}
		err = p.update(keys, pairs)
	}
	slices.SortStableFunc(p.inserts, func(a, b merged) int { return cmp.Compare(a.row, b.row) })
	return p, err
}

// chosenOf returns those of ascending addresses for whose rows a condition is true.
func chosenOf(ctx context.Context, d *dataset.Dataset, addresses []uint64, condition string) ([]uint64, error) {
	rows, err := choose(ctx, d, condition)
	if err != nil {
		return nil, err
	}
	kept := addresses[:0]
	for _, address := range addresses {
		if _, ok := slices.BinarySearch(rows.addresses, address); ok {
			kept = append(kept, address)
		}
	}
	return kept, nil
}

// insertUnmatched adds the rows of the source that are in no pair.
func (p *mergePlan) insertUnmatched(pairs []merged, spec Merge) {
	if !spec.InsertAll {
		return
	}
	hit := make([]bool, p.source.NumRows())
	for _, pair := range pairs {
		hit[pair.row] = true
	}
	for row, hit := range hit {
		if !hit {
			p.inserts = append(p.inserts, merged{int32(row), notReplacing})
			p.inserted++
		}
	}
}

// update replaces rows of the table by rows of the source. The pairs of one row of the
// table stand together.
func (p *mergePlan) update(keys *keys, pairs []merged) error {
	for i, pair := range pairs {
		if i > 0 && pairs[i-1].replaces == pair.replaces {
			return protocol.Errorf(protocol.InvalidInput,
				"the merge is ambiguous: several rows of the source match one row of the table on %s", keys.describe(pair.row))
		}
		p.inserts = append(p.inserts, pair)
		p.deletes = append(p.deletes, pair.replaces)
		p.updated++
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
	if p.dataset.Manifest().StableRowIDs() {
		// Rows that keep their ids come first.
		slices.SortStableFunc(p.inserts, func(a, b merged) int { return cmp.Compare(a.kind(), b.kind()) })
		for _, m := range p.inserts {
			if m.replaces != notReplacing {
				r.Moved = append(r.Moved, m.replaces)
			}
		}
	}
	fields := append([]arrow.Field(nil), p.source.Schema().Fields()...)
	values := p.dataset.Schema().BlobValues()
	for _, name := range p.missing {
		fields = append(fields, values.Field(values.FieldIndices(name)[0]))
	}
	r.Insert.Schema = arrow.NewSchema(fields, nil)
	r.Insert.Trusted = !p.blobs
	r.Insert.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for rows := p.inserts; len(rows) > 0; {
			batch, err := p.rows(ctx, rows[:min(len(rows), mergeBatch)], r.Insert.Schema)
			if !yield(batch, err) || err != nil {
				return
			}
			rows = rows[batch.NumRows():]
		}
	}
	return r
}

// rows puts the first of some rows together, as many as blobs allow: from the source, and
// where that lacks columns from the rows of the table that they replace.
func (p *mergePlan) rows(ctx context.Context, inserts []merged, s *arrow.Schema) (arrow.RecordBatch, error) {
	var theirs []arrow.Array
	if len(p.missing) > 0 {
		var addresses []uint64
		var positions []int32
		for _, m := range inserts {
			if m.replaces == notReplacing {
				positions = append(positions, gather.Null)
				continue
			}
			positions = append(positions, int32(len(addresses)))
			addresses = append(addresses, m.replaces)
		}
		fit, err := p.dataset.FitValues(ctx, p.missing, addresses)
		if err != nil {
			return nil, err
		}
		if fit < len(addresses) {
			addresses, positions = addresses[:fit], positions[:slices.Index(positions, int32(fit))]
		}
		taken, err := p.dataset.TakeValues(ctx, p.missing, addresses)
		if err != nil {
			return nil, err
		}
		inserts = inserts[:len(positions)]
		if taken, err = gather.Batch(taken, positions); err != nil {
			return nil, err
		}
		theirs = taken.Columns()
	}
	mine, err := gather.Batch(p.source, rowsOf(inserts))
	if err != nil {
		return nil, err
	}
	return array.NewRecordBatch(s, append(mine.Columns(), theirs...), int64(len(inserts))), nil
}

// rowsOf returns the rows of the source among inserts.
func rowsOf(inserts []merged) []int32 {
	rows := make([]int32, len(inserts))
	for i, m := range inserts {
		rows[i] = m.row
	}
	return rows
}
