package merge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// A Spec defines how new rows, the source, are merged into a table. A null key matches nothing. If
// several rows of the source would update the same row of the table, the error is InvalidInput,
// because the result would depend on their order.
type Spec struct {
	On        []string // key columns: rows match if all of these are equal
	UpdateAll bool     // replace rows of the table by matching rows of the source
	InsertAll bool     // add rows of the source without a match
	BySource  bool     // delete rows of the table without a match
	// UpdateIf restricts UpdateAll to the pairs that satisfy it. It is an SQL expression over the
	// structs source and target. Empty means no condition.
	UpdateIf string
	// BySourceIf restricts BySource to the rows of the table that satisfy it.
	BySourceIf string
}

// Changes reports whether the spec can change a table.
func (s Spec) Changes() bool { return s.UpdateAll || s.InsertAll || s.BySource }

// A Plan contains the rows that a merge adds to a version, and the rows that it removes.
type Plan struct {
	Dataset *dataset.Dataset
	source  *Source
	pairs   *pairing
	insert  bool        // add rows of the source without a match
	deletes *rowset.Set // including the replaced rows
	blobs   bool        // the source contains references to external blobs

	missing []string            // columns of the table that the source lacks
	partial map[int]*completion // by position, columns of the source that lack members of structs
	read    []string            // columns whose values in the table are read: missing, then those in partial by position

	Updated, Inserted, Deleted int64 // rows
}

// Means are the functions and limits for finding rows.
type Means struct {
	MappedRows int    // maximum number of keys to match in memory, if they fit
	Choose     Choose // finds the rows that satisfy BySourceIf
	Having     Having // finds rows by their keys
}

// NewPlan matches the source with a version of the table.
func NewPlan(ctx context.Context, d *dataset.Dataset, source *Source, spec Spec, means Means) (*Plan, error) {
	// Inserted rows need all required columns; updates keep the missing ones.
	matching := d.Schema().MatchSome
	if spec.InsertAll {
		matching = d.Schema().MatchMembers
	}
	var err error
	if source.match, err = matching(source.schema); err != nil {
		return nil, err
	}
	p := &Plan{Dataset: d, source: source, insert: spec.InsertAll}
	if err := p.compare(); err != nil {
		return nil, err
	}
	if spec.On, err = p.findKeys(spec.On); err != nil {
		return nil, err
	}
	if p.pairs, p.deletes, err = matchRows(ctx, d, source, spec, means); err != nil {
		return nil, scratchError(err)
	}
	// The rows to delete have no match in the source, and satisfy the condition.
	if spec.BySourceIf != "" {
		rows, held, err := means.Choose(ctx, d, spec.BySourceIf)
		if err != nil {
			return nil, err
		}
		p.deletes.Intersect(rows)
		held.Release()
	}
	p.Deleted = p.deletes.Len()
	return p, p.update(ctx, spec)
}

// compare finds the columns and members that the source lacks.
func (p *Plan) compare() error {
	found := p.source.match.Schema
	for _, f := range p.Dataset.Schema().Fields {
		if found.Field(f.Name) == nil {
			p.missing = append(p.missing, f.Name)
		}
	}
	p.partial, p.read = map[int]*completion{}, slices.Clip(p.missing)
	for i, column := range p.source.schema.Fields() {
		have := found.Field(column.Name)
		p.blobs = p.blobs || have.HoldsBlobs()
		lacking, err := newCompletion(p.Dataset.Schema().Field(column.Name), have)
		if err != nil {
			return err
		}
		if lacking != nil {
			p.partial[i], p.read = lacking, append(p.read, column.Name)
		}
	}
	return nil
}

// Choose finds the rows of a version that match a predicate. It returns the memory of that set.
type Choose func(ctx context.Context, d *dataset.Dataset, predicate string) (*rowset.Set, *memory.Hold, error)

// Having finds the rows of a version with one of some values in a column. The values are not null.
// It returns nil if a scan of all rows is cheaper.
type Having func(ctx context.Context, d *dataset.Dataset, column string, values arrow.Array) (*snapshot.Candidates, error)

// matchRows pairs the rows of the version with the rows of the source. It uses a map of the source's
// keys if they fit into memory, and otherwise the scratch directory.
func matchRows(ctx context.Context, d *dataset.Dataset, source *Source, spec Spec, means Means) (*pairing, *rowset.Set, error) {
	if source.rows > means.MappedRows {
		return matchOnDisk(ctx, d, source, spec.On, spec.BySource, means.MappedRows)
	}
	room := source.room.Another()
	defer room.Release()
	keys, err := newKeys(ctx, source, spec.On, &room)
	if errors.Is(err, errNoSpare) {
		room.Release()
		return matchOnDisk(ctx, d, source, spec.On, spec.BySource, max(source.rows/fewKeys, 1))
	}
	if err != nil {
		return nil, nil, err
	}
	if spec.BySource {
		return keys.match(ctx, d, nil, true)
	}
	return keys.match(ctx, d, source.candidates(d, spec.On, means.Having), false)
}

// fewKeys is the minimum number of maps among which the keys of a large source are divided.
const fewKeys = 8

// update drops the pairs that replace nothing by the spec, and counts the others. The error is
// InvalidInput if two rows of the source replace the same row.
func (p *Plan) update(ctx context.Context, spec Spec) error {
	if _, err := memory.Take(ctx, addressBytes*int64(min(p.source.rows, batchRows))); err != nil {
		return err
	}
	for _, address := range p.pairs.first {
		if spec.InsertAll && address == notReplacing {
			p.Inserted++
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
	// The source may be in any order. A set is faster to build from sorted addresses.
	replaced := make([]uint64, 0, min(p.source.rows, batchRows))
	held, failed := memory.Hold{}, error(nil)
	flush := func() {
		slices.Sort(replaced)
		if failed == nil {
			failed = p.deletes.AddHeld(ctx, &held, replaced)
		}
		replaced = replaced[:0]
	}
	p.pairs.each(0, p.source.rows, func(m merged) {
		if replaced = append(replaced, m.replaces); len(replaced) == batchRows {
			flush()
		}
		p.Updated++
	})
	flush()
	return failed
}

const (
	// batchRows is the number of rows that are assembled at a time.
	batchRows = 1 << 16
	// addressBytes is the memory of one row address in a list.
	addressBytes = 8
)

// Replacement returns the change to commit. If it inserts rows, the commit conflicts with
// concurrently added rows, because one of them might match.
func (p *Plan) Replacement(ctx context.Context) (dataset.Replacement, error) {
	r := dataset.Replacement{Delete: p.deletes, Exclusive: p.Inserted > 0}
	if p.Updated+p.Inserted == 0 {
		return r, nil
	}
	stable := p.Dataset.Manifest().StableRowIDs()
	if stable {
		if _, err := memory.Take(ctx, addressBytes*p.Updated); err != nil {
			return r, err
		}
		r.Moved = make([]uint64, 0, p.Updated)
		p.pairs.each(0, p.source.rows, func(m merged) { r.Moved = append(r.Moved, m.replaces) })
	}
	fields := append([]arrow.Field(nil), p.source.schema.Fields()...)
	values := p.Dataset.Schema().BlobValues()
	stored := func(name string) arrow.Field { return values.Field(values.FieldIndices(name)[0]) }
	for i, lacking := range p.partial {
		fields[i].Type = lacking.typeOf(fields[i].Type, stored(fields[i].Name).Type)
	}
	for _, name := range p.missing {
		fields = append(fields, stored(name))
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

// write yields replacing rows, new rows, or both, in the order of the source. It returns false once
// the consumer has stopped.
func (p *Plan) write(ctx context.Context, s *arrow.Schema, replacing, added bool, yield func(arrow.RecordBatch, error) bool) bool {
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

// rowsOf returns the rows of a source batch to write, and the memory of that list.
func (p *Plan) rowsOf(ctx context.Context, source sourceBatch, replacing, added bool) ([]merged, memory.Hold, error) {
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

// piece assembles as many of the first rows as memory allows. It also returns the memory that they
// occupy.
func (p *Plan) piece(ctx context.Context, source sourceBatch, rows []merged, s *arrow.Schema) (arrow.RecordBatch, *memory.Share, error) {
	for n := min(len(rows), batchRows); ; n /= 2 {
		inPart, part, err := memory.Within(ctx)
		if err != nil {
			return nil, nil, err
		}
		batch, err := p.rows(inPart, source, rows[:n], s)
		if err == nil || n == 1 || !memory.TooMuch(err) {
			part.Settle(part.Held())
			return batch, part, err
		}
		part.Close()
	}
}

// rows assembles as many of the first rows as their blobs allow. The values come from a batch of
// the source; for columns and members that the source lacks, from the replaced rows of the table.
func (p *Plan) rows(ctx context.Context, source sourceBatch, inserts []merged, s *arrow.Schema) (arrow.RecordBatch, error) {
	var theirs []arrow.Array
	if len(p.read) > 0 {
		var addresses []uint64
		var positions []int32
		for _, m := range inserts {
			if m.replaces == notReplacing {
				positions = append(positions, take.Null)
				continue
			}
			positions = append(positions, int32(len(addresses)))
			addresses = append(addresses, m.replaces)
		}
		fit, err := p.Dataset.FitValues(ctx, p.read, addresses)
		if err != nil {
			return nil, err
		}
		if fit < len(addresses) {
			addresses, positions = addresses[:fit], positions[:slices.Index(positions, int32(fit))]
		}
		taken, err := p.Dataset.TakeValues(ctx, p.read, addresses)
		if err != nil {
			return nil, err
		}
		if err := memory.FromContext(ctx).Take(ctx, 2*take.BatchBytes(taken)); err != nil { // a second copy, in the order of the source
			return nil, err
		}
		inserts = inserts[:len(positions)]
		if taken, err = take.Batch(taken, positions); err != nil {
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
	columns, err := p.complete(ctx, mine.Columns(), theirs[len(p.missing):])
	if err != nil {
		return nil, err
	}
	return array.NewRecordBatch(s, append(columns, theirs[:len(p.missing)]...), int64(len(inserts))), nil
}

// complete adds the missing members to the columns of the source. kept are the columns of the table
// for p.partial, by position.
func (p *Plan) complete(ctx context.Context, columns, kept []arrow.Array) ([]arrow.Array, error) {
	columns = slices.Clone(columns)
	for i := range columns {
		lacking := p.partial[i]
		if lacking == nil {
			continue
		}
		copies := int64(columns[i].Data().SizeInBytes() + kept[0].Data().SizeInBytes())
		if _, err := memory.Take(ctx, copies); err != nil {
			return nil, err
		}
		var err error
		if columns[i], err = lacking.complete(columns[i], kept[0]); err != nil {
			return nil, err
		}
		kept = kept[1:]
	}
	return columns, nil
}

// gatherRepeated is like take.Batch, but positions may repeat. It first takes memory as if all rows
// had the average width, and then corrects it to the actual size.
func gatherRepeated(ctx context.Context, batch arrow.RecordBatch, positions []int32) (arrow.RecordBatch, error) {
	bytes, each := take.BatchBytes(batch), int64(0)
	bytes = int64(float64(bytes) / float64(max(batch.NumRows(), 1)) * float64(len(slices.Compact(slices.Clone(positions)))))
	for i := 1; i < len(positions); i++ {
		if positions[i] != positions[i-1] {
			continue
		}
		// The first repetition of a row measures its size.
		if i == 1 || positions[i-1] != positions[i-2] {
			row, err := take.Batch(batch, positions[i:i+1])
			if err != nil {
				return nil, err
			}
			each = take.BatchBytes(row)
		}
		bytes += each
	}
	share := memory.FromContext(ctx)
	if err := share.Take(ctx, bytes); err != nil {
		return nil, err
	}
	gathered, err := take.Batch(batch, positions)
	if err != nil {
		return nil, err
	}
	return gathered, share.Take(ctx, take.BatchBytes(gathered)-bytes)
}
