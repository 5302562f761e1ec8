package engine

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sqlexpr"
)

// Names of columns that a search adds to its answer.
const (
	distanceColumn   = "_distance"   // float32
	scoreColumn      = "_score"      // float32, of a search for words
	queryIndexColumn = "query_index" // int32, which of several query vectors
)

// An output is the columns of an answer and what they are made of.
type output struct {
	schema  *arrow.Schema
	columns []outputColumn
	sources []string // columns of the table, and row columns, to be read
}

// outputColumn is read, computed, or a distance or score. What is read is answered as it is, but JSON
// as text.
type outputColumn struct {
	source   int            // position in sources, or -1
	stored   arrow.Field    // what is read
	bound    *sqlexpr.Bound // nil unless computed
	distance bool
}

// plan resolves the columns that a request asks for. A search adds a column of its own,
// scored: it is where it is asked for, or else after the other columns. There is none
// without a name.
func plan(req *protocol.QueryTableRequest, d *dataset.Dataset, scored string) (*output, error) {
	out := &output{sources: []string{}}
	var fields []arrow.Field
	add := func(name string, c outputColumn, f arrow.Field) {
		f.Name = name
		fields = append(fields, f)
		out.columns = append(out.columns, c)
	}
	wanted := req.Columns
	if len(wanted) == 0 {
		for _, f := range d.Schema().Fields {
			wanted = append(wanted, protocol.ProjectedColumn{Name: f.Name})
		}
	}
	hasScored, hasRowID := scored == "", false
	field := arrow.Field{Type: arrow.PrimitiveTypes.Float32, Nullable: true}
	for _, w := range wanted {
		switch {
		case scored != "" && w.Name == scored && w.Expression == "":
			hasScored = true
			add(scored, outputColumn{source: -1, distance: true}, field)
			continue
		case w.Name == dataset.RowID:
			hasRowID = true
		}
		c, f, err := out.column(w, d)
		if err != nil {
			return nil, err
		}
		add(w.Name, c, f)
	}
	if !hasScored {
		add(scored, outputColumn{source: -1, distance: true}, field)
	}
	if req.WithRowID && !hasRowID {
		c, f, err := out.column(protocol.ProjectedColumn{Name: dataset.RowID}, d)
		if err != nil {
			return nil, err
		}
		add(dataset.RowID, c, f)
	}
	metadata := d.ArrowSchema().Metadata()
	out.schema = arrow.NewSchema(fields, &metadata)
	return out, nil
}

// column resolves one column of the request: a column of the table, a row column, a path
// into a struct, or an expression.
func (o *output) column(w protocol.ProjectedColumn, d *dataset.Dataset) (outputColumn, arrow.Field, error) {
	sql := w.Expression
	if sql == "" {
		field, err := d.Column(w.Name)
		var unknown *dataset.ErrNoColumn
		if errors.As(err, &unknown) {
			return outputColumn{}, field, noColumn(unknown)
		}
		return outputColumn{source: o.source(w.Name), stored: field}, schema.TextField(field), err
	}
	bound, err := bind("column "+w.Name, sql, d, d.ScanSchema(), sqlexpr.Bind)
	if err != nil {
		return outputColumn{}, arrow.Field{}, err
	}
	for _, name := range bound.Columns() {
		o.source(name)
	}
	return outputColumn{source: -1, bound: bound}, arrow.Field{Type: bound.Type(), Nullable: true}, nil
}

// source returns the position of a column among those to be read, and adds it if it is
// not one of them.
func (o *output) source(name string) int {
	if at := slices.Index(o.sources, name); at >= 0 {
		return at
	}
	o.sources = append(o.sources, name)
	return len(o.sources) - 1
}

// batches makes the answer's columns of each batch of the sources, up to the first error.
func (o *output) batches(sources iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for read, err := range sources {
			var batch arrow.RecordBatch
			if err == nil {
				batch, err = o.batch(read, nil)
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
}

// batch makes the answer's columns from the sources. distances is nil but for a search.
func (o *output) batch(read arrow.RecordBatch, distances arrow.Array) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(o.columns))
	for i, c := range o.columns {
		switch {
		case c.distance:
			columns[i] = distances
		case c.bound != nil:
			var err error
			if columns[i], err = c.bound.Eval(read); err != nil {
				return nil, sqlError("column "+o.schema.Field(i).Name, err)
			}
		default:
			var err error
			if columns[i], err = schema.TextArray(c.stored, read.Column(c.source)); err != nil {
				return nil, fmt.Errorf("column %s: %w", o.schema.Field(i).Name, err)
			}
		}
		if columns[i].Len() != int(read.NumRows()) {
			return nil, fmt.Errorf("column %s has %d values for %d rows", o.schema.Field(i).Name, columns[i].Len(), read.NumRows())
		}
	}
	return array.NewRecordBatch(o.schema, columns, read.NumRows()), nil
}
