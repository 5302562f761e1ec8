package snapshot

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/storage/objectstore"
)

// tripBytes is the approximate amount that remote storage transfers during the latency of one
// request.
const tripBytes = 1 << 20

// readsTogether reports whether the projected columns of n candidates should be read in the same
// round trip as the columns of the filter. That saves a round trip and wastes the bytes of rows
// that the filter drops.
func (s *Snapshot) readsTogether(w window, p *Projection, n int) bool {
	if objectstore.Near(s.place.Store) {
		return false
	}
	bytes := 0.0
	for _, field := range p.fields() {
		if !w.fragment.AtHand(field, w.rows()) {
			bytes += min(takeBytes*float64(n), w.fragment.FieldBytes(field)*float64(w.to-w.from))
		}
	}
	return bytes > 0 && bytes <= tripBytes
}

// filterTogether filters candidates whose projected and tested columns it reads in one round trip.
func (s *Snapshot) filterTogether(ctx context.Context, w window, p *Projection, filter choice, rows []int32) (arrow.RecordBatch, error) {
	both, tested := p.with(filter.tested)
	read, err := s.assemble(ctx, w, both, rows, nil)
	if err != nil {
		return nil, err
	}
	test := make([]arrow.Array, len(tested))
	for i, at := range tested {
		test[i] = read.Column(at)
	}
	kept, err := filter.where.Select(ctx, array.NewRecordBatch(filter.tested.schema, test, read.NumRows()), nil)
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return filter.none(), nil
	}
	columns := slices.Clone(read.Columns()[:len(p.columns)])
	if int64(len(kept)) < read.NumRows() {
		for i, column := range columns {
			if columns[i], err = take.Array(column, kept); err != nil {
				return nil, fmt.Errorf("column %s: %w", p.columns[i].name, err)
			}
		}
	}
	return array.NewRecordBatch(p.schema, columns, int64(len(kept))), nil
}

// with returns the union of two projections, columns of p first, and the positions of other's
// columns in it.
func (p *Projection) with(other *Projection) (both *Projection, places []int) {
	both = &Projection{columns: slices.Clone(p.columns)}
	fields := p.schema.Fields()
	for i, c := range other.columns {
		at := slices.IndexFunc(both.columns, func(have projected) bool { return have.name == c.name })
		if at < 0 {
			at = len(both.columns)
			both.columns, fields = append(both.columns, c), append(fields, other.schema.Field(i))
		}
		places = append(places, at)
	}
	metadata := p.schema.Metadata()
	both.schema = arrow.NewSchema(fields, &metadata)
	return both, places
}
