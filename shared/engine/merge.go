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
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
)

// A Merge defines how new rows, the source, are merged into a table.
type Merge struct {
	On        []string // columns whose equal values make a row of the source match a row of the table
	UpdateAll bool     // a row of the source replaces the row of the table that it matches
	InsertAll bool     // a row of the source that matches no row is added
	BySource  bool     // a row of the table that matches no row of the source is deleted
	// UpdateIf limits UpdateAll to the pairs for which it is true. It is an SQL expression over the
	// structs source and target. Empty means no condition.
	UpdateIf string
	// BySourceIf limits BySource to the rows of the table for which it is true.
	BySourceIf string
}

// Merge merges rows into the table in one commit. A null key matches nothing. If several rows of
// the source match the same row of the table, and that row would be updated, the error is
// InvalidInput, because the result would depend on their order.
//
// Only the first rows of a large source stay in memory; the rest, and the keys that are needed for
// matching, wait in the scratch directory. Merge works on the newest version. When other writers
// commit rows that may matter in the meantime, it plans again.
func (t *Table) Merge(ctx context.Context, rows dataset.Rows, spec Merge, confirm func() error) (Written, error) {
	if !spec.UpdateAll && !spec.InsertAll && !spec.BySource {
		return Written{}, protocol.Errorf(protocol.InvalidInput,
			"the merge would change nothing; set when_matched_update_all, when_not_matched_insert_all or when_not_matched_by_source_delete")
	}
	// If there is no table, no row must be read, because the caller may create a table from the
	// rows.
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
			return t.engine.planMerge(ctx, d, source, spec, t.engine.limits.mappedRows)
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

// A mergePlan is the set of rows that a merge adds to a version and the set that it removes.
type mergePlan struct {
	dataset *dataset.Dataset
	source  *mergeSource
	pairs   *pairing
	insert  bool        // rows of the source without a match are added
	deletes *rowset.Set // includes the replaced rows
	missing []string    // columns of the table that the source lacks
	blobs   bool        // the source contains blobs that are stored elsewhere

	updated, inserted, deleted int64
}

// planMerge matches the source with a version of the table.
func (e *Engine) planMerge(ctx context.Context, d *dataset.Dataset, source *mergeSource, spec Merge, mappedRows int) (*mergePlan, error) {
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
		rows, err := e.choose(ctx, d, spec.BySourceIf)
		if err != nil {
			return nil, err
		}
		p.deletes.Intersect(rows.set)
		rows.held.Release()
	}
	p.deleted = p.deletes.Len()
	return p, p.update(ctx, spec)
}

// matchRows pairs the rows of the version with those of the source. It uses a map of the source's
// keys if they are few enough and memory is free, and otherwise the scratch directory.
func matchRows(ctx context.Context, d *dataset.Dataset, source *mergeSource, spec Merge, mappedRows int) (*pairing, *rowset.Set, error) {
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

// fewKeys is the least number of maps into which the keys of a large source are divided.
const fewKeys = 8

// update limits the pairs to those that replace rows of the table, and counts them.
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
	// The source may be in any order. Building a set is faster with rows in the order of the table.
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

// mergeBatch is how many rows are assembled at a time.
const mergeBatch = 1 << 16

// replacement returns the change to commit. Inserted rows are only correct if no other row matches
// them, so the commit conflicts with concurrently added rows.
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

// write yields rows that replace others, or new rows, or both, in the order of the source. It
// returns false once the consumer has stopped.
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

// rowsOf returns the rows of a source batch that are written, and the memory of that list.
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

// piece assembles the first of the given rows, as many as memory allows. It also returns the part
// of the share that holds them.
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

// rows assembles the first of the given rows, as many as their blobs allow. The values come from a
// batch of the source; for columns that the source lacks, from the replaced rows of the table.
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
		if err := memory.FromContext(ctx).Take(ctx, 2*gather.BatchBytes(taken)); err != nil { // a second copy, in order
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

// gatherRepeated is gather.Batch for positions that may repeat. It first takes memory as if all
// rows had the average width, and then corrects it to what the rows really need.
func gatherRepeated(ctx context.Context, batch arrow.RecordBatch, positions []int32) (arrow.RecordBatch, error) {
	bytes, each := gather.BatchBytes(batch), int64(0)
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
			each = gather.BatchBytes(row)
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
	return gathered, share.Take(ctx, gather.BatchBytes(gathered)-bytes)
}
