// Package evolution changes the columns of a table and their metadata (metadata.go).
package evolution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
	"tiltyard/shared/storage/objectstore"
)

// AddNullColumns adds columns, and members of structs, that are null in every row. It writes no
// data. To add members to an existing struct column, columns contains the struct with the new
// members only.
func AddNullColumns(ctx context.Context, t *engine.Table, columns *arrow.Schema) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		if err := apierror.CheckNames(columns); err != nil {
			return nil, err
		}
		return alter.AddColumns(ctx, d, alter.NewColumns{Schema: columns})
	})
}

// AddColumns adds columns and computes their values by SQL expressions over the row.
func AddColumns(ctx context.Context, t *engine.Table, columns []engine.Assignment) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		added, err := newColumns(ctx, d, columns)
		if err != nil {
			return nil, err
		}
		if err := newNames(d, added.Schema); err != nil {
			return nil, err
		}
		return alter.AddColumns(ctx, d, added)
	})
}

// AddComputedColumns adds columns that are null in every row and whose metadata holds the
// expressions that compute them, as LanceDB does. Each column has the type of its expression, which
// may read the columns before it.
func AddComputedColumns(ctx context.Context, t *engine.Table, columns []engine.Assignment, schedule computed.Schedule) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		fields := d.ArrowSchema().Fields()
		old := len(fields)
		for _, c := range columns {
			field, err := computed.Declare(ctx, d, arrow.NewSchema(fields, nil), c.Column, c.SQL)
			if err != nil {
				return nil, err
			}
			fields = append(slices.Clip(fields), schedule.With(field))
		}
		added := arrow.NewSchema(fields[old:], nil)
		if err := newNames(d, added); err != nil {
			return nil, err
		}
		return alter.AddColumns(ctx, d, alter.NewColumns{Schema: added})
	})
}

// AddVirtualColumns adds null columns whose metadata carries a function and its input columns,
// which must exist. envelopes maps keys in the folder of the table to the contents of function
// files that the metadata refers to.
func AddVirtualColumns(ctx context.Context, t *engine.Table, columns *arrow.Schema, inputs []string, envelopes map[string]string) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		for _, path := range inputs {
			if _, err := d.Schema().Resolve(path); err != nil {
				return nil, d.NoColumn(path)
			}
		}
		if err := newNames(d, columns); err != nil {
			return nil, err
		}
		store, root := d.Main()
		for key, text := range envelopes {
			if _, err := store.Put(ctx, root+"/"+key, []byte(text), objectstore.Condition{}); err != nil {
				return nil, err
			}
		}
		return alter.AddColumns(ctx, d, alter.NewColumns{Schema: columns})
	})
}

// AddFunctionColumns adds the result columns of a registered function. They are null in every row
// until a backfill calls the function.
func AddFunctionColumns(ctx context.Context, t *engine.Table, use computed.Use) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		columns, metadata, err := computed.FunctionColumns(d, use)
		if err != nil {
			return nil, err
		}
		if err := newNames(d, columns); err != nil {
			return nil, err
		}
		return alter.AddColumns(ctx, d, alter.NewColumns{Schema: columns, Metadata: metadata})
	})
}

// newNames returns an error for columns that already exist or whose names are not allowed.
func newNames(d *dataset.Dataset, columns *arrow.Schema) error {
	seen := map[string]bool{}
	for _, f := range columns.Fields() {
		if seen[f.Name] || d.Schema().Field(f.Name) != nil {
			return protocol.Errorf(protocol.TableSchemaValidationError, "column %q already exists", f.Name)
		}
		seen[f.Name] = true
	}
	return apierror.CheckNames(columns)
}

// newColumns binds the expressions of new columns to a version.
func newColumns(ctx context.Context, d *dataset.Dataset, columns []engine.Assignment) (alter.NewColumns, error) {
	fields := make([]arrow.Field, len(columns))
	values := make([]*plan.Bound, len(columns))
	added := alter.NewColumns{Read: []string{}}
	for i, c := range columns {
		value, err := condition.Bind(ctx, "column "+c.Column, c.SQL, d, d.ArrowSchema(), func(ctx context.Context, e syntax.Expr, _ *arrow.Schema, now time.Time) (*plan.Bound, error) {
			return plan.Bind(ctx, e, d.ArrowSchema(), now)
		})
		if err != nil {
			return added, err
		}
		fields[i] = arrow.Field{Name: c.Column, Type: value.Type(), Nullable: value.Nullable()}
		values[i] = value
		added.Read = append(added.Read, value.Columns()...)
	}
	slices.Sort(added.Read)
	added.Read = slices.Compact(added.Read)
	added.Schema = arrow.NewSchema(fields, nil)
	// The values are computed batch by batch, when the new column files are written.
	added.Values = func(ctx context.Context, rows arrow.RecordBatch) (arrow.RecordBatch, error) {
		arrays := make([]arrow.Array, len(values))
		for i, value := range values {
			var err error
			if arrays[i], err = value.Eval(ctx, rows); err != nil {
				return nil, apierror.OfExpression("column "+fields[i].Name, err)
			}
			if err := rowchunks.TakeMade(ctx, rows, arrays[i]); err != nil {
				return nil, err
			}
		}
		return array.NewRecordBatch(added.Schema, arrays, rows.NumRows()), nil
	}
	return added, nil
}

// AlterColumns changes the names, the nullability and the types of columns.
func AlterColumns(ctx context.Context, t *engine.Table, alterations []alter.Alteration) (engine.Written, error) {
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		var moved, retyped, all []string
		for _, a := range alterations {
			all = append(all, a.Path)
			if err := checkAlteration(d, a); err != nil {
				return nil, err
			}
			if a.Type != nil {
				retyped = append(retyped, a.Path)
			}
			if a.Type != nil || a.Rename != "" {
				moved = append(moved, a.Path)
			}
		}
		// Another type or name breaks the expressions that read a column; the nullability does not.
		if err := computed.CheckInputs(d.Schema(), moved, nil); err != nil {
			return nil, err
		}
		if err := computed.CheckRetyped(d.Schema(), retyped); err != nil {
			return nil, err
		}
		if err := computed.CheckBound(d.Schema(), all); err != nil {
			return nil, err
		}
		return alter.Apply(ctx, d, alterations, convert)
	})
}

// checkAlteration returns an error if the column does not exist, or native Lance could not cast it to
// the new type.
func checkAlteration(d *dataset.Dataset, a alter.Alteration) error {
	chain, err := d.Schema().Resolve(a.Path)
	if err != nil {
		return d.NoColumn(a.Path)
	}
	if a.Type == nil {
		return nil
	}
	if from := chain[len(chain)-1].Type; !sameFamily(from, a.Type) {
		return protocol.Errorf(protocol.InvalidInput, "cannot cast column %q from %s to %s", a.Path, from, a.Type)
	}
	return nil
}

// convert implements alter.Cast. If the result would exceed the size limit of an Arrow array, it returns a memory error,
// after which the caller casts fewer values at a time.
func convert(ctx context.Context, values arrow.Array, to arrow.DataType) (arrow.Array, error) {
	out, err := cast.Convert(ctx, values, to)
	if errors.Is(err, sql.ErrTooLarge) && values.Len() > 1 {
		limit := memory.FromContext(ctx).Limit()
		err = fmt.Errorf("%w: %w", err, &memory.Error{Bytes: limit, Limit: limit})
	}
	if err != nil {
		return nil, apierror.OfExpression("cast", err)
	}
	_, err = memory.Take(ctx, int64(out.Data().SizeInBytes()))
	return out, err
}

// sameFamily reports whether native Lance can change the type of a column between two types: both
// must be integers, floats, times, texts, binaries or decimals, or lists of these.
func sameFamily(from, to arrow.DataType) bool {
	if d, ok := from.(*arrow.DictionaryType); ok {
		return sameFamily(d.ValueType, to)
	}
	if d, ok := to.(*arrow.DictionaryType); ok {
		return sameFamily(from, d.ValueType)
	}
	fromList, ok := from.(arrow.ListLikeType)
	if toList, both := to.(arrow.ListLikeType); ok && both {
		return sameFamily(fromList.Elem(), toList.Elem())
	}
	return family(from) != 0 && family(from) == family(to)
}

// family returns the number of the family of a type without children, or 0 if it has none.
func family(t arrow.DataType) int {
	id := t.ID()
	switch {
	case arrow.IsInteger(id):
		return 1
	case arrow.IsFloating(id):
		return 2
	case arrow.IsDecimal(id):
		return 3
	case id == arrow.BOOL:
		return 4
	case id == arrow.STRING || id == arrow.LARGE_STRING:
		return 5
	case id == arrow.BINARY || id == arrow.LARGE_BINARY:
		return 6
	}
	switch id {
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return 7
	}
	return 0
}

// DropColumns removes columns, or members of structs, by their paths. Result columns of functions
// lose their declarations in a separate earlier version, as in LanceDB.
func DropColumns(ctx context.Context, t *engine.Table, paths []string) (engine.Written, error) {
	paths, err := unbind(ctx, t, paths)
	if err != nil {
		return engine.Written{}, err
	}
	return t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		if err := checkDropped(d, paths); err != nil {
			return nil, err
		}
		return alter.DropColumns(ctx, d, paths)
	})
}

// unbind removes the declarations of function columns among paths, and returns the paths of all
// columns to drop. It changes nothing if the columns cannot be dropped.
func unbind(ctx context.Context, t *engine.Table, paths []string) ([]string, error) {
	all := paths
	plan := func(d *dataset.Dataset) (*computed.Unbinding, error) {
		u, err := computed.Unbind(d.Schema(), paths)
		if u == nil || err != nil {
			return nil, err
		}
		all = append(slices.Clip(paths), u.Added...)
		if err := checkDropped(d, all); err != nil {
			return nil, err
		}
		return u, nil
	}
	// A first check without a commit avoids a version if no column is declared.
	bound := false
	err := engine.Do(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) error {
		u, err := plan(d)
		bound = u != nil
		return err
	})
	if err != nil || !bound {
		return all, err
	}
	// This version precedes the one of the request's attempt, so it must not carry its id.
	_, err = t.As(nil).Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		u, err := plan(d)
		if u == nil || err != nil {
			return nil, err
		}
		updates := make([]FieldMetadata, 0, len(u.Columns))
		for _, name := range u.Columns {
			f := d.Schema().Field(name)
			if f == nil {
				continue
			}
			update := FieldMetadata{Path: schema.FormatPath(name), Set: map[string]*string{}}
			for _, key := range computed.DeclarationKeys(f) {
				update.Set[key] = nil
			}
			updates = append(updates, update)
		}
		op, err := MetadataOf(d, updates)
		if err != nil {
			return nil, err
		}
		op.SchemaMetadata = &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: schemaapi.FunctionBindingsKey, Value: u.Bindings}}}
		return d.Commit(ctx, op)
	})
	return all, err
}

// checkDropped returns an error if a column does not exist or is an input of a remaining computed
// column, or if no column would remain.
func checkDropped(d *dataset.Dataset, paths []string) error {
	left := map[string]bool{}
	for _, f := range d.ArrowSchema().Fields() {
		left[f.Name] = true
	}
	for _, path := range paths {
		if _, err := d.Schema().Resolve(path); err != nil {
			return apierror.NoColumn(d.NoColumn(path))
		}
		delete(left, path)
	}
	if len(left) == 0 {
		return protocol.Errorf(protocol.InvalidInput, "the request would drop all columns of the table; drop the table, or overwrite it")
	}
	return computed.CheckInputs(d.Schema(), paths, paths)
}
