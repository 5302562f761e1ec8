package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/gather"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/memory"
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
// Of a source that is large all but the first rows, and what is needed to match it, wait in
// the scratch directory. The merge is of the newest version: when others commit rows that may
// matter while it is worked out, it is worked out again.
func (t *Table) Merge(ctx context.Context, rows dataset.Rows, spec Merge, confirm func() error) (Written, error) {
	if !spec.UpdateAll && !spec.InsertAll && !spec.BySource {
		return Written{}, protocol.Errorf(protocol.InvalidInput,
			"the merge would change nothing: set when_matched_update_all, when_not_matched_insert_all or when_not_matched_by_source_delete")
	}
	// Without a table nothing is taken from the rows: they may be needed to make one.
	if err := t.data.Find(ctx); err != nil {
		return Written{}, t.translate(err)
	}
	source, err := readSource(ctx, rows, t.engine.limits.MergeBytes, t.engine.limits.heldBytes)
	if err != nil {
		return Written{}, t.translate(err)
	}
	defer source.close()
	plan, commit, err := change(ctx, t,
		func(ctx context.Context, d *dataset.Dataset) (*mergePlan, error) {
			return planMerge(ctx, d, source, spec, t.engine.limits.mappedRows)
		},
		func(ctx context.Context, p *mergePlan) (dataset.Commit, error) {
			r, err := p.replacement(ctx)
			if err != nil {
				return dataset.Commit{}, err
			}
			if t.attempt != nil {
				r.Properties = map[string]string{mergedProperty: fmt.Sprint(p.updated, p.inserted, p.deleted)}
			}
			return p.dataset.Replace(ctx, r, confirm)
		})
	if err != nil {
		return already(Written{}, err)
	}
	done := written(commit)
	done.Updated, done.Inserted, done.Deleted = plan.updated, plan.inserted, plan.deleted
	return done, nil
}

// A mergePlan is which rows of the source go in and which of the version go out.
type mergePlan struct {
	dataset *dataset.Dataset
	source  *mergeSource
	pairs   *pairing
	insert  bool            // whether rows of the source that match none go in
	deletes *dataset.RowSet // also those that are replaced
	missing []string        // columns of the table that the source does not have
	blobs   bool            // whether the source has some, which say where they are

	updated, inserted, deleted int64
}

// planMerge matches the source with a version of the table.
func planMerge(ctx context.Context, d *dataset.Dataset, source *mergeSource, spec Merge, mappedRows int) (*mergePlan, error) {
	matching := d.Schema().MatchSome
	if spec.InsertAll {
		matching = d.Schema().Match
	}
	match, err := matching(source.schema)
	if err != nil {
		return nil, err
	}
	if err := checkKeys(d, source.schema, spec.On); err != nil {
		return nil, err
	}
	p := &mergePlan{dataset: d, source: source, insert: spec.InsertAll}
	for _, f := range d.Schema().Fields {
		if match.Schema.Field(f.Name) == nil {
			p.missing = append(p.missing, f.Name)
		} else {
			p.blobs = p.blobs || f.HoldsBlobs()
		}
	}
	if p.pairs, p.deletes, err = matchRows(ctx, d, source, spec, mappedRows); err != nil {
		return nil, scratchError(err)
	}
	if spec.BySourceIf != "" {
		rows, err := choose(ctx, d, spec.BySourceIf)
		if err != nil {
			return nil, err
		}
		p.deletes.Intersect(rows.set)
		rows.held.Release()
	}
	p.deleted = p.deletes.Len()
	return p, p.update(ctx, spec)
}

// matchRows pairs the rows of the version with those of the source: by a map of the source's
// keys if there are not too many and memory is to spare for it, else by way of the scratch
// directory.
func matchRows(ctx context.Context, d *dataset.Dataset, source *mergeSource, spec Merge, mappedRows int) (*pairing, *dataset.RowSet, error) {
	if source.rows > mappedRows {
		return matchOnDisk(ctx, d, source, spec.On, spec.BySource, mappedRows)
	}
	room := spare{share: source.room.share}
	defer room.release()
	keys, err := newKeys(ctx, source, spec.On, &room)
	if errors.Is(err, errNoSpare) {
		room.release()
		return matchOnDisk(ctx, d, source, spec.On, spec.BySource, max(source.rows/fewKeys, 1))
	}
	if err != nil {
		return nil, nil, err
	}
	return keys.match(ctx, d, spec.BySource)
}

// fewKeys is into how many maps at least the keys of a source go that do not fit one.
const fewKeys = 8

// update narrows the pairs to those that replace rows of the table, and counts.
func (p *mergePlan) update(ctx context.Context, spec Merge) error {
	if _, err := memory.Take(ctx, addressBytes*int64(min(p.source.rows, mergeBatch))); err != nil {
		return err
	}
	for _, address := range p.pairs.first {
		if spec.InsertAll && address == notReplacing {
			p.inserted++
		}
	}
	switch {
	case !spec.UpdateAll:
		p.pairs.dropAll()
	case spec.UpdateIf != "":
		if err := p.dropUnless(ctx, spec.UpdateIf); err != nil {
			return err
		}
	}
	if row := p.pairs.ambiguous(); row >= 0 {
		const ambiguous = "the merge is ambiguous: several rows of the source match one row of the table on "
		return &protocol.Error{
			Code: protocol.InvalidInput, Message: ambiguous + p.source.describe(ctx, row, spec.On), Logged: ambiguous + strings.Join(spec.On, ", "),
		}
	}
	// The source may be in any order; a set is made faster from rows in that of the table.
	replaced := make([]uint64, 0, min(p.source.rows, mergeBatch))
	held, failed := memory.Hold{}, error(nil)
	flush := func() {
		slices.Sort(replaced)
		if failed == nil {
			failed = addRows(ctx, &held, p.deletes, replaced)
		}
		replaced = replaced[:0]
	}
	p.pairs.each(0, p.source.rows, func(m merged) {
		if replaced = append(replaced, m.replaces); len(replaced) == mergeBatch {
			flush()
		}
		p.updated++
	})
	flush()
	return failed
}

// mergeBatch is how many rows are put together at a time.
const mergeBatch = 1 << 16

// replacement returns what is to be committed. Rows that are inserted depend on there
// being no others that match them, so the commit must not overtake new rows.
func (p *mergePlan) replacement(ctx context.Context) (dataset.Replacement, error) {
	r := dataset.Replacement{Delete: p.deletes, Exclusive: p.inserted > 0}
	if p.updated+p.inserted == 0 {
		return r, nil
	}
	stable := p.dataset.Manifest().StableRowIDs()
	if stable {
		if _, err := memory.Take(ctx, addressBytes*p.updated); err != nil {
			return r, err
		}
		r.Moved = make([]uint64, 0, p.updated)
		p.pairs.each(0, p.source.rows, func(m merged) { r.Moved = append(r.Moved, m.replaces) })
	}
	fields := append([]arrow.Field(nil), p.source.schema.Fields()...)
	values := p.dataset.Schema().BlobValues()
	for _, name := range p.missing {
		fields = append(fields, values.Field(values.FieldIndices(name)[0]))
	}
	r.Insert.Schema = arrow.NewSchema(fields, nil)
	r.Insert.Trusted = !p.blobs
	r.Insert.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		if !stable {
			p.write(ctx, r.Insert.Schema, true, p.insert, yield)
			return
		}
		// Rows that keep their ids come first.
		if p.write(ctx, r.Insert.Schema, true, false, yield) && p.insert {
			p.write(ctx, r.Insert.Schema, false, true, yield)
		}
	}
	return r, nil
}

// write yields rows that replace others, or new ones, or both in the order of the source. It
// is false once nobody wants more.
func (p *mergePlan) write(ctx context.Context, s *arrow.Schema, replacing, added bool, yield func(arrow.RecordBatch, error) bool) bool {
	for source, err := range p.source.batches(ctx) {
		var rows []merged
		var room memory.Hold
		if err == nil {
			rows, room, err = p.rowsOf(ctx, source, replacing, added)
		}
		if err != nil {
			yield(nil, err)
			return false
		}
		for len(rows) > 0 {
			batch, part, err := p.piece(ctx, source, rows, s)
			more := yield(batch, err)
			part.Close()
			if !more || err != nil {
				return false
			}
			rows = rows[batch.NumRows():]
		}
		room.Release()
	}
	return true
}

// rowsOf returns the rows of a batch of the source that are written, and the memory of the list.
func (p *mergePlan) rowsOf(ctx context.Context, source sourceBatch, replacing, added bool) ([]merged, memory.Hold, error) {
	room, err := memory.Take(ctx, mergedBytes*int64(int(source.NumRows())+p.pairs.moreOf(source.first, source.first+int(source.NumRows()))))
	if err != nil {
		return nil, room, err
	}
	var rows []merged
	if replacing {
		p.pairs.each(source.first, source.first+int(source.NumRows()), func(m merged) { rows = append(rows, m) })
	}
	if !added {
		return rows, room, nil
	}
	for i := range int(source.NumRows()) {
		if row := source.first + i; p.pairs.first[row] == notReplacing {
			rows = append(rows, merged{int32(row), notReplacing})
		}
	}
	slices.SortStableFunc(rows, func(a, b merged) int { return cmp.Compare(a.row, b.row) })
	return rows, room, nil
}

// piece puts the first of some rows together, as many as there is memory for, and returns the part
// of the share that holds it.
func (p *mergePlan) piece(ctx context.Context, source sourceBatch, rows []merged, s *arrow.Schema) (arrow.RecordBatch, *memory.Share, error) {
	for n := min(len(rows), mergeBatch); ; n /= 2 {
		inPart, part, err := memory.Within(ctx)
		if err != nil {
			return nil, nil, err
		}
		batch, err := p.rows(inPart, source, rows[:n], s)
		if err == nil || n == 1 || !tooMuch(err) {
			part.Settle(part.Held())
			return batch, part, err
		}
		part.Close()
	}
}

// rows puts the first of some rows together, as many as blobs allow: from a batch of the
// source, and where that lacks columns from the rows of the table that they replace.
func (p *mergePlan) rows(ctx context.Context, source sourceBatch, inserts []merged, s *arrow.Schema) (arrow.RecordBatch, error) {
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
		if err := memory.FromContext(ctx).Take(ctx, 2*batchBytes(taken)); err != nil { // and put into the order of the source
			return nil, err
		}
		inserts = inserts[:len(positions)]
		if taken, err = gather.Batch(taken, positions); err != nil {
			return nil, err
		}
		theirs = taken.Columns()
	}
	positions := make([]int32, len(inserts))
	for i, m := range inserts {
		positions[i] = m.row - int32(source.first)
	}
	mine, err := gatherRepeated(ctx, source, positions)
	if err != nil {
		return nil, err
	}
	return array.NewRecordBatch(s, append(mine.Columns(), theirs...), int64(len(inserts))), nil
}

// gatherRepeated is gather.Batch for rows some of which follow each other more than once. It takes
// memory for them as if all were as wide as the others, and then what they really need.
func gatherRepeated(ctx context.Context, batch arrow.RecordBatch, positions []int32) (arrow.RecordBatch, error) {
	bytes, each := batchBytes(batch), int64(0)
	bytes = int64(float64(bytes) / float64(max(batch.NumRows(), 1)) * float64(len(slices.Compact(slices.Clone(positions)))))
	for i := 1; i < len(positions); i++ {
		if positions[i] != positions[i-1] {
			continue
		}
		if i == 1 || positions[i-1] != positions[i-2] {
			row, err := gather.Batch(batch, positions[i:i+1])
			if err != nil {
				return nil, err
			}
			each = batchBytes(row)
		}
		bytes += each
	}
	share := memory.FromContext(ctx)
	if err := share.Take(ctx, bytes); err != nil {
		return nil, err
	}
	gathered, err := gather.Batch(batch, positions)
	if err != nil {
		return nil, err
	}
	return gathered, share.Take(ctx, batchBytes(gathered)-bytes)
}
