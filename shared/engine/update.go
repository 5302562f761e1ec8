package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// An Assignment gives a column the value of an SQL expression over the old row.
type Assignment struct {
	Column string
	SQL    string
}

// Update assigns to columns of the rows that match a predicate; an empty predicate matches all
// rows. It makes one commit, even if no row matches. Values are cast to the types of their columns.
//
// Only the addresses of the rows are held in memory; the rows are read and written in batches.
func (t *Table) Update(ctx context.Context, assignments []Assignment, predicate string) (Written, error) {
	rows, made, err := change(ctx, t,
		func(ctx context.Context, d *dataset.Dataset) (*updatePlan, error) {
			return t.engine.planUpdate(ctx, d, assignments, predicate)
		},
		func(ctx context.Context, p *updatePlan) (dataset.Commit, error) {
			r, err := p.replacement(ctx)
			if err != nil {
				return dataset.Commit{}, err
			}
			return p.dataset.Replace(ctx, r)
		})
	if err != nil {
		return already(Written{}, err)
	}
	done := written(made)
	done.Inserted, done.Updated = 0, rows.set.Len()
	return done, nil
}

// An updatePlan is a set of rows and their new values.
type updatePlan struct {
	*chosen
	schema  *arrow.Schema // of the rows, with blobs as values
	columns []string
	values  map[int]*plan.Bound // by position of the column; a nil expression means NULL
}

// planUpdate binds the assignments to a version and chooses its rows.
func (e *Engine) planUpdate(ctx context.Context, d *dataset.Dataset, assignments []Assignment, predicate string) (*updatePlan, error) {
	p := &updatePlan{schema: d.Schema().BlobValues(), values: map[int]*plan.Bound{}}
	for _, a := range assignments {
		if err := computed.CheckWritten(d.Schema(), a.Column); err != nil {
			return nil, err
		}
		if err := p.assign(ctx, d, a); err != nil {
			return nil, err
		}
	}
	if !d.IsNear() {
		// All columns of the chosen rows are read afterwards. Their files are opened in parallel with the
		// search for the rows, which would not open them itself.
		defer d.OpenAhead(ctx, nil)()
	}
	var err error
	p.chosen, err = e.choose(ctx, d, predicate)
	return p, err
}

// assign binds an expression and casts it to the type of its column.
func (p *updatePlan) assign(ctx context.Context, d *dataset.Dataset, a Assignment) error {
	at := d.ArrowSchema().FieldIndices(a.Column)
	if len(at) == 0 {
		if column, _, ok := strings.Cut(a.Column, "."); ok && d.Schema().Field(column) != nil {
			return protocol.Errorf(protocol.Unsupported, "updating %s, a part of a column, is not supported; update the whole column", a.Column)
		}
		return apierror.OfFilter(apierror.NoColumn(d.NoColumn(a.Column)))
	}
	if d.Schema().Field(a.Column).HoldsBlobsV2() {
		return protocol.Errorf(protocol.Unsupported, "updating %s is not supported: its blobs have no SQL type; merge the rows instead", a.Column)
	}
	typ, json := p.schema.Field(at[0]).Type, d.Schema().Fields[at[0]].IsJSON()
	bound, err := condition.Bind(ctx, "updates: "+a.Column, a.SQL, d, p.schema, func(ctx context.Context, e syntax.Expr, _ *arrow.Schema, now time.Time) (*plan.Bound, error) {
		value, err := plan.Bind(ctx, e, p.schema, now)
		switch {
		case err != nil:
			return nil, err
		case value.Type().ID() == arrow.NULL:
			return nil, nil // NULL fits every type, including types unknown to SQL
		case json && value.Type().ID() != typ.ID():
			return plan.BindAs(ctx, e, p.schema, now, arrow.BinaryTypes.String) // as JSON text; see assigned
		}
		if dictionary, ok := typ.(*arrow.DictionaryType); ok {
			return plan.BindAs(ctx, e, p.schema, now, dictionary.ValueType)
		}
		return plan.BindAs(ctx, e, p.schema, now, typ)
	})
	p.columns, p.values[at[0]] = append(p.columns, a.Column), bound
	return apierror.OfFilter(err)
}

// replacement returns the change to commit: the old rows to delete, and the stream of new ones.
func (p *updatePlan) replacement(ctx context.Context) (dataset.Replacement, error) {
	r := dataset.Replacement{Delete: p.set, Changed: p.columns}
	chosen := p.set.Len()
	if chosen == 0 {
		return r, nil
	}
	// Updated rows keep their stable ids, so the commit needs their old addresses in order.
	if p.dataset.Manifest().StableRowIDs() {
		if _, err := memory.Take(ctx, addressBytes*chosen); err != nil {
			return r, err
		}
		r.Moved = slices.AppendSeq(make([]uint64, 0, chosen), p.set.All())
	}
	r.Insert.Schema, r.Insert.Trusted = p.schema, true
	r.Insert.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		rows := int64(0)
		_, batches, err := p.dataset.ScanValues(ctx, snapshot.ScanOptions{Rows: p.set})
		if err != nil {
			yield(nil, err)
			return
		}
		for batch, err := range batches {
			if err != nil {
				yield(nil, err)
				return
			}
			rows += batch.NumRows()
			for piece, err := range rowchunks.Of(ctx, batch, p.assigned) {
				if !yield(piece, err) || err != nil {
					return
				}
			}
		}
		// The version is immutable, so both scans must find the same rows.
		if rows != chosen {
			yield(nil, fmt.Errorf("the predicate matched %d rows and then %d", chosen, rows))
		}
	}
	return r, nil
}

// addressBytes is the memory of one row address in a list.
const addressBytes = 8

// assigned returns rows with their new values, and takes memory for the values.
func (p *updatePlan) assigned(ctx context.Context, batch arrow.RecordBatch, _ int64) (arrow.RecordBatch, error) {
	columns := append([]arrow.Array(nil), batch.Columns()...)
	for at, value := range p.values {
		var err error
		if value == nil {
			columns[at] = take.Nulls(p.schema.Field(at).Type, int(batch.NumRows()))
		} else if columns[at], err = value.Eval(ctx, batch); err != nil {
			return nil, apierror.OfExpression("updates: "+batch.ColumnName(at), err)
		}
		if err := rowchunks.TakeMade(ctx, batch, columns[at]); err != nil {
			return nil, err
		}
		made := columns[at]
		if columns[at], err = p.stored(at, made); err != nil {
			return nil, err
		}
		// The stored form exists in addition to the computed one only if it was converted.
		if columns[at] == made {
			continue
		}
		if err := rowchunks.TakeMade(ctx, batch, columns[at]); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(p.schema, columns, batch.NumRows()), nil
}

// stored converts the values of an expression to the stored form of the column: a dictionary, or
// binary JSON.
func (p *updatePlan) stored(at int, values arrow.Array) (arrow.Array, error) {
	field := p.schema.Field(at)
	if dictionary, ok := field.Type.(*arrow.DictionaryType); ok && values.DataType().ID() != arrow.DICTIONARY {
		encoded, err := take.Encode(values, dictionary)
		if err != nil {
			return nil, protocol.Errorf(protocol.Unsupported, "updates: %s: %v", field.Name, err)
		}
		// Many distinct values may have widened the index type.
		if !arrow.TypeEqual(encoded.DataType(), field.Type) {
			return nil, protocol.Errorf(protocol.InvalidInput, "updates: %s: there are more distinct values than the index type %s can number",
				field.Name, dictionary.IndexType)
		}
		return encoded, nil
	}
	if p.dataset.Schema().Fields[at].IsJSON() && values.DataType().ID() == arrow.STRING {
		json, err := schema.StoredJSON(values)
		if err != nil {
			return nil, fmt.Errorf("updates: %s: %w", field.Name, err)
		}
		return json, nil
	}
	return values, nil
}
