package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/plan"
)

// These are the names of the columns that a search adds to its answer.
const (
	distanceColumn   = "_distance"        // float32
	scoreColumn      = "_score"           // float32, in a search for words
	relevanceColumn  = "_relevance_score" // float32, in a hybrid search
	elementColumn    = "_doc_index"       // list of uint32, the position of a found element in its list
	queryIndexColumn = "query_index"      // int32, the number of the query vector
)

// An output describes the columns of an answer and the source of their values.
type output struct {
	schema  *arrow.Schema
	columns []outputColumn
	sources []string // table columns and row columns to read
	rated   rating   // the columns that a search adds
	rates   bool     // an expression refers to an added column
}

// An outputColumn is a column that is read, computed, or added by a search. A column that is read
// is returned unchanged, except that JSON becomes text.
type outputColumn struct {
	source int         // position in sources, or -1
	stored arrow.Field // the field in the table
	bound  *plan.Bound // nil unless the column is computed
	added  int         // 1 + its position among the columns that a search adds, or 0
}

// planOutput resolves the columns that a query requests. A search adds columns, each at the
// requested position or else after the other columns. If WithRowID is set, the row ids come last,
// even if they are also a requested column.
func planOutput(ctx context.Context, q *Query, r condition.Relation, rated rating) (*output, error) {
	out := &output{sources: []string{}, rated: rated}
	var fields []arrow.Field
	add := func(name string, c outputColumn, f arrow.Field) {
		f.Name = name
		fields = append(fields, f)
		out.columns = append(out.columns, c)
	}
	wanted := q.Columns
	// "*" means all columns, unless a column has this name.
	if len(wanted) == 0 || len(wanted) == 1 && (wanted[0] == Column{Name: "*"}) && !r.Columns().HasField("*") {
		wanted = nil
		for _, f := range r.Columns().Fields() {
			wanted = append(wanted, Column{Name: f.Name})
		}
	}
	for _, w := range wanted {
		// The row id is added as the last column below.
		if w.Name == snapshot.RowID && w.Expression == "" && q.WithRowID {
			continue
		}
		if slices.ContainsFunc(fields, func(f arrow.Field) bool { return f.Name == w.Name }) {
			return nil, protocol.Errorf(protocol.InvalidInput, "columns: %q is given twice; each column of an answer needs its own name", w.Name)
		}
		c, f, err := out.column(ctx, w, r)
		if err != nil {
			return nil, err
		}
		add(w.Name, c, f)
	}
	// Columns of the search that the query does not place come after the others.
	for i, f := range rated.fields() {
		if !slices.ContainsFunc(fields, func(has arrow.Field) bool { return has.Name == f.Name }) {
			add(f.Name, outputColumn{source: -1, added: 1 + i}, f)
		}
	}
	if q.WithRowID {
		c, f, err := out.stored(snapshot.RowID, r.Dataset)
		if err != nil {
			return nil, err
		}
		add(snapshot.RowID, c, f)
	}
	metadata := r.Metadata()
	out.schema = arrow.NewSchema(fields, &metadata)
	return out, nil
}

// column resolves one column of the query: a column of the relation, a row column, a path into a
// struct, the distance or score, or an expression.
func (o *output) column(ctx context.Context, w Column, r condition.Relation) (outputColumn, arrow.Field, error) {
	sql, added := w.Expression, o.rated.index(w.Name)
	switch {
	case sql != "" && r.Columns().HasField(sql): // including a column whose name is not a valid expression, such as a-b
		return o.named(sql, r)
	case sql == "" && added >= 0:
		return outputColumn{source: -1, added: 1 + added}, o.rated.fields()[added], nil
	case sql == "":
		return o.named(w.Name, r)
	}
	bound, err := r.Bind(ctx, "column "+w.Name, sql, plan.Bind, o.rated.fields()...)
	if err != nil {
		return outputColumn{}, arrow.Field{}, err
	}
	path, ok := bound.Path()
	if !ok {
		return o.computed(bound)
	}
	if added = o.rated.index(path[0]); added >= 0 {
		return outputColumn{source: -1, added: 1 + added}, o.rated.fields()[added], nil
	}
	return o.stored(schema.FormatPath(path...), r.Dataset)
}

// named resolves a column of the relation by its name.
func (o *output) named(name string, r condition.Relation) (c outputColumn, f arrow.Field, err error) {
	if bound := r.Computed(name); bound != nil {
		c, f, err = o.computed(bound)
	} else {
		var source string
		if source, err = r.Source(name); err == nil {
			c, f, err = o.stored(source, r.Dataset)
		}
	}
	if r.View != nil {
		if fields, ok := r.View.Schema.FieldsByName(name); ok {
			f = schema.TextField(fields[0])
		}
	}
	return c, f, err
}

// stored resolves a column of the table.
func (o *output) stored(name string, d *dataset.Dataset) (outputColumn, arrow.Field, error) {
	field, err := d.Column(name)
	var unknown *snapshot.ErrNoColumn
	if errors.As(err, &unknown) {
		return outputColumn{}, field, apierror.NoColumn(unknown)
	}
	return outputColumn{source: o.source(name), stored: field}, schema.TextField(field), err
}

// computed resolves an expression, and adds the columns that it reads to the sources.
func (o *output) computed(bound *plan.Bound) (outputColumn, arrow.Field, error) {
	for _, name := range bound.Columns() {
		if o.rated.index(name) >= 0 {
			o.rates = true
			continue
		}
		o.source(name)
	}
	return outputColumn{source: -1, bound: bound}, arrow.Field{Type: bound.Type(), Nullable: bound.Nullable()}, nil
}

// source returns the position of a column among the sources, and adds the column if it is missing.
func (o *output) source(name string) int {
	if at := slices.Index(o.sources, name); at >= 0 {
		return at
	}
	o.sources = append(o.sources, name)
	return len(o.sources) - 1
}

// batches computes the answer's columns for each batch of the sources, up to the first error.
func (o *output) batches(ctx context.Context, sources iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for read, err := range sources {
			if err != nil {
				yield(nil, err)
				return
			}
			for batch, err := range o.pieces(ctx, read, nil) {
				if !yield(batch, err) || err != nil {
					return
				}
			}
		}
	}
}

// pieces computes the answer's columns for a batch of the sources. If memory is short, it divides
// the rows into smaller batches. added are the columns of a search.
func (o *output) pieces(ctx context.Context, read arrow.RecordBatch, added []arrow.Array) iter.Seq2[arrow.RecordBatch, error] {
	return rowchunks.Of(ctx, read, func(ctx context.Context, rows arrow.RecordBatch, from int64) (arrow.RecordBatch, error) {
		of := make([]arrow.Array, len(added))
		for i, a := range added {
			of[i] = array.NewSlice(a, from, from+rows.NumRows())
		}
		return o.batch(ctx, rows, of)
	})
}

// batch computes the answer's columns from the sources, and takes memory for the computed ones.
func (o *output) batch(ctx context.Context, read arrow.RecordBatch, added []arrow.Array) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(o.columns))
	given := read
	if o.rates {
		given = o.rated.with(read, added)
	}
	for i, c := range o.columns {
		switch {
		case c.added > 0:
			columns[i] = added[c.added-1]
		case c.bound != nil:
			var err error
			if columns[i], err = c.bound.Eval(ctx, given); err != nil {
				return nil, apierror.OfExpression("column "+o.schema.Field(i).Name, err)
			}
		default:
			var err error
			if columns[i], err = schema.TextArray(c.stored, read.Column(c.source)); err != nil {
				return nil, fmt.Errorf("column %s: %w", o.schema.Field(i).Name, err)
			}
		}
		if err := rowchunks.TakeMade(ctx, read, columns[i]); err != nil {
			return nil, err
		}
		if columns[i].Len() != int(read.NumRows()) {
			return nil, fmt.Errorf("column %s has %d values for %d rows", o.schema.Field(i).Name, columns[i].Len(), read.NumRows())
		}
	}
	return array.NewRecordBatch(o.schema, columns, read.NumRows()), nil
}
