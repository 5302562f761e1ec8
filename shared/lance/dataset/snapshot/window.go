package snapshot

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/schema"
)

// readWindow returns the projected columns of the chosen live rows of a window.
func (s *Snapshot) readWindow(ctx context.Context, w window, p *Projection, chosen choice) (arrow.RecordBatch, error) {
	if chosen.rows != nil {
		rows := chosen.rows.Of(w.fragment.Meta.ID)
		if rows.Deleted(w.from, w.to) == w.to-w.from { // all rows, so none need to be gathered
			return s.assemble(ctx, w, p, nil, nil)
		}
		return s.assemble(ctx, w, p, rows.Positions(w.from, w.to), nil)
	}
	deleted, err := w.fragment.Deletions(ctx)
	if err != nil {
		return nil, err
	}
	among, all := chosen.among.of(w.fragment.Meta.ID)
	if all {
		return s.filterCandidates(ctx, w, p, chosen, liveAmong(among, deleted, w.from, w.to))
	}
	if chosen.where == nil {
		return s.assemble(ctx, w, p, deleted.LivePositions(w.from, w.to), nil)
	}
	return s.filterWindow(ctx, w, deleted, p, chosen)
}

// filterWindow returns the projected columns of the rows that a filter keeps. It reads the filter's
// columns first. If the filter keeps no row, it reads nothing else; if it keeps few, it reads only
// those rows of the other columns.
func (s *Snapshot) filterWindow(ctx context.Context, w window, deleted *deletion.Vector, p *Projection, filter choice) (arrow.RecordBatch, error) {
	tested := filter.tested
	var live []int32   // positions to test; nil: all rows
	var among []uint64 // bitmap of the rows to test; nil: all
	if w.mostlyLive() && len(tested.fields()) == len(tested.columns) {
		among = deleted.LiveBits(w.from, w.to) // cheaper to test with a bitmap than to gather the live rows
	} else {
		live = deleted.LivePositions(w.from, w.to)
	}
	return s.filterRows(ctx, w, p, filter, live, among)
}

// filterCandidates filters the rows at the given positions.
func (s *Snapshot) filterCandidates(ctx context.Context, w window, p *Projection, filter choice, rows []int32) (arrow.RecordBatch, error) {
	switch {
	case len(rows) == 0:
		return filter.none(), nil
	case filter.among.Sure:
		return s.assemble(ctx, w, p, rows, nil)
	case s.readsTogether(w, p, len(rows)):
		return s.filterTogether(ctx, w, p, filter, rows)
	}
	return s.filterRows(ctx, w, p, filter, rows, nil)
}

// liveAmong returns the positions, relative to from, of the rows in [from, to) that are candidates
// and live.
func liveAmong(rows, deleted *deletion.Vector, from, to int64) []int32 {
	positions := rows.Positions(from, to)
	return slices.DeleteFunc(positions, func(i int32) bool { return deleted.Contains(uint32(from + int64(i))) })
}

// filterRows returns the projected columns of the rows that a filter keeps, among the positions
// live (nil: all) and the bitmap among of these.
func (s *Snapshot) filterRows(ctx context.Context, w window, p *Projection, filter choice, live []int32, among []uint64) (arrow.RecordBatch, error) {
	tested := filter.tested
	test, err := s.assemble(ctx, w, tested, live, nil)
	if err != nil {
		return nil, err
	}
	kept, err := filter.where.Select(ctx, test, among)
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return filter.none(), nil
	}
	have := map[string]arrow.Array{}
	for i, c := range tested.columns {
		column := test.Column(i)
		if int64(len(kept)) < test.NumRows() {
			if column, err = take.Array(column, kept); err != nil {
				return nil, fmt.Errorf("column %s: %w", c.name, err)
			}
		}
		have[c.name] = column
	}
	return s.assemble(ctx, w, p, compose(live, kept), have)
}

// mostlyLive reports whether fewer than half of the rows are deleted.
func (w window) mostlyLive() bool { return 2*w.live > w.to-w.from }

// compose maps positions among the live rows to positions in the window.
func compose(live, kept []int32) []int32 {
	if live == nil {
		return kept
	}
	rows := make([]int32, len(kept))
	for i, k := range kept {
		rows[i] = live[k]
	}
	return rows
}

// assemble makes a batch of the window's rows at the given positions (nil: all). have holds columns
// that were already read for exactly these rows.
func (s *Snapshot) assemble(ctx context.Context, w window, p *Projection, rows []int32, have map[string]arrow.Array) (arrow.RecordBatch, error) {
	n := int(w.to - w.from)
	if rows != nil {
		n = len(rows)
	}
	var missing []*schema.Field
	for _, c := range p.columns {
		if c.field != nil && have[c.name] == nil {
			missing = append(missing, c.field)
		}
	}
	read, err := w.readFields(ctx, missing, rows)
	if err != nil {
		return nil, err
	}
	columns := make([]arrow.Array, len(p.columns))
	// Columns of read are in the order of missing.
	for i, c := range p.columns {
		switch {
		case have[c.name] != nil:
			columns[i] = have[c.name]
		case c.field != nil:
			columns[i], read = c.of(read[0]), read[1:]
		default:
			if columns[i], err = w.rowColumn(ctx, c.name, rows, n); err != nil {
				return nil, err
			}
		}
	}
	return array.NewRecordBatch(p.schema, columns, int64(n)), nil
}

// rows selects all rows of the window.
func (w window) rows() fragment.Selection {
	return fragment.Selection{From: w.from, To: w.to, Transient: w.transient}
}

// readFields reads columns of the window's rows at the given positions (nil: all). It fetches few
// rows one by one where that is cheaper than the whole window.
func (w window) readFields(ctx context.Context, fields []*schema.Field, rows []int32) ([]arrow.Array, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	if rows == nil {
		return w.fragment.Read(ctx, fields, w.rows())
	}
	var single, whole []int // indices into fields
	for i, field := range fields {
		if w.worthTaking(field, len(rows)) {
			single = append(single, i)
		} else {
			whole = append(whole, i)
		}
	}
	if len(single) == 0 {
		return w.gatherFields(ctx, fields, rows)
	}
	if len(whole) == 0 {
		return w.takeFields(ctx, fields, rows)
	}
	columns := make([]arrow.Array, len(fields))
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range []struct {
		read func(context.Context, []*schema.Field, []int32) ([]arrow.Array, error)
		at   []int
	}{{w.takeFields, single}, {w.gatherFields, whole}} {
		group.Go(func() (err error) {
			defer lance.Contain(func(e error) { err = e })
			read, err := part.read(ctx, pick(fields, part.at), rows)
			if err == nil {
				for i, at := range part.at {
					columns[at] = read[i]
				}
			}
			return err
		})
	}
	return columns, group.Wait()
}

// takeFields fetches the rows one by one.
func (w window) takeFields(ctx context.Context, fields []*schema.Field, rows []int32) ([]arrow.Array, error) {
	physical := make([]int64, len(rows))
	for i, r := range rows {
		physical[i] = w.from + int64(r)
	}
	return w.fragment.Read(ctx, fields, fragment.Selection{Single: physical})
}

// gatherFields reads the whole window and selects the rows.
func (w window) gatherFields(ctx context.Context, fields []*schema.Field, rows []int32) ([]arrow.Array, error) {
	columns, err := w.fragment.Read(ctx, fields, w.rows())
	if err != nil {
		return nil, err
	}
	for i, column := range columns {
		if columns[i], err = take.Array(column, rows); err != nil {
			return nil, fmt.Errorf("column %s: %w", fields[i].Name, err)
		}
	}
	return columns, nil
}

func pick(fields []*schema.Field, positions []int) []*schema.Field {
	picked := make([]*schema.Field, len(positions))
	for i, p := range positions {
		picked[i] = fields[p]
	}
	return picked
}

const (
	// takeBytes is the approximate cost of a single row: the chunk that contains it.
	takeBytes = 8 << 10
	// takeBelow is the fraction of a window's rows above which rows are not fetched one by one.
	takeBelow = 1.0 / 16
)

// worthTaking reports whether n rows of a column are cheaper to fetch one by one than as part of
// the whole window. Cached windows are free.
func (w window) worthTaking(field *schema.Field, n int) bool {
	return w.areFew(field, int64(n)) && !w.fragment.AtHand(field, w.rows())
}

// areFew reports whether n single rows of a column cost fewer bytes than the whole window.
func (w window) areFew(field *schema.Field, n int64) bool {
	rows := float64(w.to - w.from)
	return float64(n) <= takeBelow*rows && float64(n)*takeBytes <= rows*w.fragment.FieldBytes(field)
}

// rowColumn computes a row column for n rows of the window at the given positions.
func (w window) rowColumn(ctx context.Context, name string, rows []int32, n int) (arrow.Array, error) {
	position := func(i int) int64 {
		if rows == nil {
			return w.from + int64(i)
		}
		return w.from + int64(rows[i])
	}
	values := make([]uint64, n)
	if name == RowOffset {
		deleted, err := w.fragment.Deletions(ctx)
		if err != nil {
			return nil, err
		}
		w.offsets(values, position, deleted)
		return uint64s(values), nil
	}
	if name == RowAddr && rows == nil { // the common case: searches need the address of every row
		first := w.fragment.Address(w.from)
		for i := range values {
			values[i] = first + uint64(i)
		}
		return uint64s(values), nil
	}
	of, err := rowValue(ctx, w.fragment, name)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i] = of(position(i))
	}
	return uint64s(values), nil
}

// rowValue returns a function from physical rows to values of a row column.
func rowValue(ctx context.Context, f *fragment.Fragment, name string) (func(row int64) uint64, error) {
	switch name {
	case RowAddr:
		return f.Address, nil
	case RowCreatedAt:
		return f.CreatedAt(ctx)
	case RowUpdatedAt:
		return f.UpdatedAt(ctx)
	default:
		return f.RowIDs(ctx)
	}
}

// offsets computes the positions of rows among the version's live rows.
func (w window) offsets(values []uint64, position func(int) int64, deleted *deletion.Vector) {
	before, at := w.offset, w.from
	for i := range values {
		row := position(i)
		before += row - at - deleted.Deleted(at, row)
		at = row
		values[i] = uint64(before)
	}
}

func uint64s(values []uint64) arrow.Array {
	data := array.NewData(arrow.PrimitiveTypes.Uint64, len(values),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Uint64Traits.CastToBytes(values))}, nil, 0, 0)
	return array.NewUint64Data(data)
}

func emptyBatch(s *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, s.NumFields())
	for i, f := range s.Fields() {
		columns[i] = take.Nulls(f.Type, 0)
	}
	return array.NewRecordBatch(s, columns, 0)
}
