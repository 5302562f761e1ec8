package snapshot

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/deletion"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/take"
)

// readWindow returns the projected columns of the rows of a window that are not deleted
// and that are chosen.
func (s *Snapshot) readWindow(ctx context.Context, w window, p *Projection, chosen choice) (arrow.RecordBatch, error) {
	if chosen.rows != nil {
		rows := chosen.rows.Of(w.fragment.Meta.ID)
		if rows.Deleted(w.from, w.to) == w.to-w.from { // all of them, which need not be gathered
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

// filterWindow returns the projected columns of the rows of a window that a filter keeps. The
// columns that it needs are read first; when it keeps nothing no others are read, and when it
// keeps little only those rows of the others.
func (s *Snapshot) filterWindow(ctx context.Context, w window, deleted *deletion.Vector, p *Projection, filter choice) (arrow.RecordBatch, error) {
	tested := filter.tested
	var live []int32   // what is tested; nil: all rows
	var among []uint64 // of what is tested; nil: all of it
	if w.mostlyLive() && len(tested.fields()) == len(tested.columns) {
		among = deleted.LiveBits(w.from, w.to) // to pass over rows costs less than to gather the others
	} else {
		live = deleted.LivePositions(w.from, w.to)
	}
	return s.filterRows(ctx, w, p, filter, live, among)
}

// filterCandidates is filterWindow of those rows at given positions.
func (s *Snapshot) filterCandidates(ctx context.Context, w window, p *Projection, filter choice, rows []int32) (arrow.RecordBatch, error) {
	switch {
	case len(rows) == 0:
		return filter.none, nil
	case filter.among.Sure:
		return s.assemble(ctx, w, p, rows, nil)
	case s.readsTogether(w, p, len(rows)):
		return s.filterTogether(ctx, w, p, filter, rows)
	}
	return s.filterRows(ctx, w, p, filter, rows, nil)
}

// liveAmong returns those of some rows from..to that are not deleted, counted from from.
func liveAmong(rows, deleted *deletion.Vector, from, to int64) []int32 {
	positions := rows.Positions(from, to)
	return slices.DeleteFunc(positions, func(i int32) bool { return deleted.Contains(uint32(from + int64(i))) })
}

// filterRows returns the projected columns of the rows that a filter keeps, of those at the
// positions live (nil: all) and, of these, among.
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
		return filter.none, nil
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

// compose returns the positions in the window of rows kept among the live ones.
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

// assemble makes a batch of the window's rows at the given positions (nil: all of them).
// Columns that are already there, for just those rows, are taken from have.
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

// rows returns all rows of the window.
func (w window) rows() fragment.Selection {
	return fragment.Selection{From: w.from, To: w.to, Transient: w.transient}
}

// readFields reads columns of the window's rows at the given positions (nil: all).
func (w window) readFields(ctx context.Context, fields []*schema.Field, rows []int32) ([]arrow.Array, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	if rows == nil {
		return w.fragment.Read(ctx, fields, w.rows())
	}
	var single, whole []int // positions in fields
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

// takeFields reads just the rows.
func (w window) takeFields(ctx context.Context, fields []*schema.Field, rows []int32) ([]arrow.Array, error) {
	physical := make([]int64, len(rows))
	for i, r := range rows {
		physical[i] = w.from + int64(r)
	}
	return w.fragment.Read(ctx, fields, fragment.Selection{Single: physical})
}

// gatherFields reads the whole window, and gathers the rows.
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
	// takeBytes is roughly what it costs to fetch a row by itself: the chunk around it.
	takeBytes = 8 << 10
	// takeBelow is the share of a window's rows above which none are fetched by themselves.
	takeBelow = 1.0 / 16
)

// worthTaking says whether n rows of a column are better fetched one by one than with the
// whole window: when they are few, and it is not at hand anyway.
func (w window) worthTaking(field *schema.Field, n int) bool {
	return w.areFew(field, int64(n)) && !w.fragment.AtHand(field, w.rows())
}

// areFew says whether n rows of a column are few enough, or the column wide enough, that they are read
// with fewer bytes one by one than with the whole window.
func (w window) areFew(field *schema.Field, n int64) bool {
	rows := float64(w.to - w.from)
	return float64(n) <= takeBelow*rows && float64(n)*takeBytes <= rows*w.fragment.FieldBytes(field)
}

// rowColumn computes a row column of the window's n rows at the given positions.
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
	if name == RowAddr && rows == nil { // what searches ask of every row
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

// rowValue returns what a row column says of each physical row.
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

// offsets numbers rows in the version: the live rows before the window, and those
// before the row within it.
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
