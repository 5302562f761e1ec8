package computed

import (
	"context"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// callRows is the maximum number of rows per call of a function.
const callRows = 4096

// An application computes columns by a function. Its columns are the outputs of the binding,
// followed by the column of assignments if there is one.
type application struct {
	binding *schemaapi.FunctionBinding
	dataset *dataset.Dataset
	params  []param       // the source of each argument
	results []arrow.Field // the declared outputs
	caller  udf.Caller
	fields  []arrow.Field // the declared parameters
}

// A param is the column that supplies an argument: a column of values, or a blob column whose bytes
// are read.
type param struct {
	bound *plan.Bound // nil for blobs
	blob  string      // path of the column
}

// newApplication resolves a binding on a version.
func newApplication(ctx context.Context, d *dataset.Dataset, b *schemaapi.FunctionBinding) (*application, error) {
	a := &application{dataset: d, binding: b}
	if err := a.bind(ctx, d); err != nil {
		return nil, err
	}
	for _, out := range b.Outputs {
		field, err := functionapi.Field{Name: out.ResultField, ArrowType: out.ArrowType, Nullable: out.Nullable}.Field()
		if err != nil {
			return nil, damaged(b, err)
		}
		column := d.Schema().Field(out.OutputName)
		if column == nil {
			return nil, damaged(b, apierror.NoColumn(d.NoColumn(out.OutputName)))
		}
		a.results = append(a.results, field)
	}
	return a, nil
}

// bind finds the columns that supply the arguments.
func (a *application) bind(ctx context.Context, d *dataset.Dataset) error {
	for _, in := range a.binding.Inputs {
		chain, err := d.Schema().Resolve(in.FieldPath)
		if err != nil {
			return apierror.NoColumn(d.NoColumn(in.FieldPath))
		}
		if chain[len(chain)-1].IsBlob() {
			a.params = append(a.params, param{blob: in.FieldPath})
			continue
		}
		// The path becomes an expression whose names are quoted, so that they may contain any character.
		path := &syntax.Column{}
		for _, f := range chain {
			path.Path = append(path.Path, syntax.Name{Text: f.Name, Quoted: true})
		}
		bound, err := plan.Bind(ctx, path, d.ArrowSchema(), time.Time{})
		if err != nil {
			return apierror.OfExpression("input "+in.FieldPath, err)
		}
		a.params = append(a.params, param{bound: bound})
	}
	return nil
}

// damaged returns the error for a binding that contradicts the table's columns.
func damaged(b *schemaapi.FunctionBinding, err error) error {
	return &protocol.Error{
		Code: protocol.InvalidTableState, Damaged: true, Message: "the use " + b.ID + " of function " + nameOf(b) + " does not fit the table: " + err.Error(),
		Detail: "drop its columns and declare them again", Err: err,
	}
}

// nameOf returns the id of the function of a binding as clients write it.
func nameOf(b *schemaapi.FunctionBinding) string {
	return strings.Join(b.Function.ID(), protocol.DefaultDelimiter)
}

// columns returns the names of the columns that the application computes.
func (a *application) columns() []string {
	var names []string
	for _, out := range a.binding.Outputs {
		names = append(names, out.OutputName)
	}
	if a.binding.Assignment != nil {
		names = append(names, a.binding.Assignment.OutputName)
	}
	return names
}

// witness returns the position of a column that is not null in any computed row.
func (a *application) witness() int {
	if a.binding.Assignment != nil {
		return len(a.binding.Outputs)
	}
	for i, out := range a.binding.Outputs {
		if !out.Nullable {
			return i
		}
	}
	return 0
}

// reads returns the columns to scan, without blob columns.
func (a *application) reads() []string {
	var names []string
	for _, p := range a.params {
		if p.bound != nil {
			names = append(names, p.bound.Columns()...)
		}
	}
	return names
}

// compute calls the function with all rows of a batch, in parts. Rows for which the function fails
// are null in all columns.
func (a *application) compute(ctx context.Context, rows arrow.RecordBatch, types []arrow.DataType) (outcome, error) {
	if a.caller == nil {
		return outcome{}, protocol.Errorf(protocol.Unsupported, "function %s cannot be run here", nameOf(a.binding))
	}
	var all outcome
	var parts [][]arrow.Array
	at := 0 // the first row of the next part
	add := func(columns []arrow.Array, failed []udf.Failure) error {
		bytes := int64(0)
		for _, c := range columns {
			bytes += int64(c.Data().SizeInBytes())
		}
		for _, f := range failed {
			f.Row += at
			all.failed = append(all.failed, f)
			bytes += 64 + int64(len(f.Type)+len(f.Message))
		}
		if _, err := memory.Take(ctx, 2*bytes); err != nil { // twice: the fragment's values, and a copy when the parts are joined
			return err
		}
		parts, at = append(parts, columns), at+columns[0].Len()
		return nil
	}
	for from := int64(0); from < rows.NumRows(); from += callRows {
		some := rows.NewSlice(from, min(from+callRows, rows.NumRows()))
		err := a.callInParts(ctx, some, types, add)
		some.Release()
		if err != nil {
			return outcome{}, err
		}
	}
	var err error
	if all.columns, err = join(parts, types); err != nil {
		return outcome{}, err
	}
	all.gained = rows.NumRows() - int64(len(all.failed))
	return all, nil
}

// join concatenates the columns of parts.
func join(parts [][]arrow.Array, types []arrow.DataType) ([]arrow.Array, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	fields := make([]arrow.Field, len(types))
	for i, typ := range types {
		fields[i] = arrow.Field{Name: "c", Type: typ, Nullable: true}
	}
	s := arrow.NewSchema(fields, nil)
	batches := make([]arrow.RecordBatch, len(parts))
	for i, columns := range parts {
		batches[i] = array.NewRecordBatch(s, columns, int64(columns[0].Len()))
	}
	joined, err := take.Concat(s, batches)
	if err != nil {
		return nil, err
	}
	return joined.Columns(), nil
}

// call calls the function once. blobs contains the blobs of the rows by parameter, nil for other
// parameters.
func (a *application) call(ctx context.Context, rows arrow.RecordBatch, blobs [][]snapshot.Blob, types []arrow.DataType) ([]arrow.Array, []udf.Failure, error) {
	if len(a.fields) != len(a.params) {
		return nil, nil, damaged(a.binding, protocol.Errorf(protocol.InvalidTableState, "it has %d inputs for %d parameters", len(a.params), len(a.fields)))
	}
	in := make([]arrow.Array, len(a.params))
	for i, p := range a.params {
		// The table and the function may have changed since the binding was made, so their types are compared.
		got := arrow.DataType(arrow.BinaryTypes.LargeBinary)
		if p.bound != nil {
			got = p.bound.Type()
		}
		if !protocol.SameFunctionType(a.fields[i].Type, got) {
			return nil, nil, damaged(a.binding, protocol.Errorf(protocol.InvalidTableState, "parameter %q is of type %s, and column %q of type %s",
				a.fields[i].Name, protocol.TypeText(a.fields[i].Type), a.binding.Inputs[i].FieldPath, protocol.TypeText(got)))
		}
		var values arrow.Array
		var err error
		if p.bound == nil {
			if values, err = blobValues(ctx, a.dataset, blobs[i]); err != nil {
				return nil, nil, err
			}
		} else if values, err = p.bound.Eval(ctx, rows); err != nil {
			return nil, nil, apierror.OfExpression("input "+a.binding.Inputs[i].FieldPath, err)
		}
		in[i] = retyped(values, a.fields[i].Type)
	}
	result, err := a.caller.Call(ctx, array.NewRecordBatch(arrow.NewSchema(a.fields, nil), in, rows.NumRows()))
	if err != nil {
		return nil, nil, err
	}
	defer result.Outputs.Release()
	outputs, err := a.outputs(result, int(rows.NumRows()))
	if err != nil {
		return nil, nil, err
	}
	failed := a.failures(outputs, result.Failed)
	columns, err := a.assigned(outputs, failed, types, int(rows.NumRows()))
	return columns, failed, err
}

// outputs returns the function's result for each output of the binding.
func (a *application) outputs(result udf.Result, rows int) ([]arrow.Array, error) {
	columns := result.Outputs.Columns()
	members, isStruct := a.results[0].Type.(*arrow.StructType)
	if len(a.results) == 1 && isStruct && a.results[0].Name == schemaapi.WholeResult && !alone(columns, members) {
		if err := CheckResult(nameOf(a.binding), members.Fields(), rows, result); err != nil {
			return nil, err
		}
		data := array.NewData(members, rows, []*arrowmemory.Buffer{nil}, dataOf(columns, members.Fields()), 0, 0)
		return []arrow.Array{array.MakeFromData(data)}, nil
	}
	return columns, CheckResult(nameOf(a.binding), a.results, rows, result)
}

// alone reports whether the result is a single column with the whole struct.
func alone(columns []arrow.Array, members *arrow.StructType) bool {
	return len(columns) == 1 && protocol.SameFunctionType(members, columns[0].DataType())
}

// failures adds rows with a forbidden null to the rows for which the function failed, in ascending
// order.
func (a *application) failures(outputs []arrow.Array, failed []udf.Failure) []udf.Failure {
	var all []udf.Failure
	for row := range outputs[0].Len() {
		if len(failed) > 0 && failed[0].Row == row {
			all, failed = append(all, failed[0]), failed[1:]
			continue
		}
		for i, out := range a.binding.Outputs {
			if !out.Nullable && outputs[i].IsNull(row) {
				what := "its output"
				if out.ResultField != schemaapi.WholeResult {
					what = out.ResultField
				}
				all = append(all, udf.Failure{Row: row, Type: "NullOutput", Message: "the function returned null for " + what + ", which it declares not to be null"})
				break
			}
		}
	}
	return all
}

// assigned returns the columns of the table: the outputs with nulls in failed rows, and the column
// of assignments if there is one.
func (a *application) assigned(outputs []arrow.Array, failed []udf.Failure, types []arrow.DataType, rows int) ([]arrow.Array, error) {
	from := make([]int32, rows)
	for i := range from {
		from[i] = int32(i)
	}
	for _, f := range failed {
		from[f.Row] = take.Null
	}
	columns := make([]arrow.Array, 0, len(types))
	for i, values := range outputs {
		if len(failed) > 0 {
			var err error
			if values, err = take.Array(values, from); err != nil {
				return nil, err
			}
		}
		columns = append(columns, retyped(values, types[i]))
	}
	if a.binding.Assignment != nil {
		b := array.NewBooleanBuilder(arrowmemory.DefaultAllocator)
		for _, at := range from {
			if at == take.Null {
				b.AppendNull()
			} else {
				b.Append(true)
			}
		}
		columns = append(columns, b.NewArray())
	}
	return columns, nil
}

// CheckResult returns an error for a result that does not match the declaration: it must have as
// many rows as the input, a column of each declared type, and failures within the rows, in
// ascending order.
func CheckResult(name string, declared []arrow.Field, rows int, result udf.Result) error {
	bad := func(format string, args ...any) error {
		return protocol.Errorf(protocol.InvalidInput, "function "+name+" "+format, args...)
	}
	out := result.Outputs
	if out.NumRows() != int64(rows) || int(out.NumCols()) != len(declared) {
		return bad("returned %d rows of %d columns for %d rows; it declares %d columns", out.NumRows(), out.NumCols(), rows, len(declared))
	}
	for i, f := range declared {
		if got := out.Column(i).DataType(); !protocol.SameFunctionType(f.Type, got) {
			return bad("returned values of type %s for %q, which it declares to be %s", protocol.TypeText(got), f.Name, protocol.TypeText(f.Type))
		}
	}
	last := -1
	for _, f := range result.Failed {
		if f.Row <= last || f.Row >= rows {
			return bad("failed for row %d of %d after row %d", f.Row, rows, last)
		}
		last = f.Row
	}
	return nil
}
