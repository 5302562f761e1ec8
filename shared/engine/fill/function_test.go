package fill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/schemaapi"
)

// A doubler is a function that returns twice its parameter, and fails for the numbers in bad.
type doubler struct {
	bad    []int64
	rows   int // of all calls
	closed int
	breaks func(*udf.Result)
}

func (d *doubler) Close() error { d.closed++; return nil }

func (d *doubler) Call(_ context.Context, in arrow.RecordBatch) (udf.Result, error) {
	d.rows += int(in.NumRows())
	b := array.NewInt64Builder(arrowmemory.DefaultAllocator)
	var result udf.Result
	for i := range int(in.NumRows()) {
		ids := in.Column(0).(*array.Int64)
		if ids.IsNull(i) {
			b.AppendNull()
			continue
		}
		if slices.Contains(d.bad, ids.Value(i)) {
			result.Failed = append(result.Failed, udf.Failure{Row: i, Type: "Bad", Message: ids.ValueStr(i)})
		}
		b.Append(2 * ids.Value(i)) // also for rows that fail: the value must not be stored
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	result.Outputs = array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, in.NumRows())
	if d.breaks != nil {
		d.breaks(&result)
	}
	return result, nil
}

// use declares the column double as the result of a function of id.
func use(nullable bool) computed.Use {
	no := false
	field := functionapi.Field{Name: "n", ArrowType: "int64", Nullable: true}
	signature := functionapi.Signature{Inputs: protocol.List[functionapi.Field]{field}, Output: functionapi.Output{Kind: functionapi.ScalarOutput, ArrowType: "int64", Nullable: &no}}
	result := schemaapi.WholeResult
	if nullable {
		result = "r"
		signature.Output = functionapi.Output{Kind: functionapi.NamedStructOutput, Fields: []functionapi.Field{{Name: "r", ArrowType: "int64", Nullable: true}}}
	}
	return computed.Use{Signature: signature, Binding: schemaapi.FunctionBinding{
		ID: "fb_1", Function: schemaapi.FunctionReference{Name: "twice", Version: "1"},
		Inputs:       []schemaapi.InputBinding{{Parameter: "n", FieldPath: "id", ArrowType: "int64", Nullable: true}},
		Outputs:      []schemaapi.OutputMapping{{ResultField: result, OutputName: "double"}},
		InputSchema:  []byte(`{"fields":[{"name":"n","nullable":true,"type":{"type":"int64"}}]}`),
		OutputSchema: []byte(`{"fields":[{"name":"double","nullable":true,"type":{"type":"int64"}}]}`),
	}}
}

// functionTable is [enginetest.CreateComputed], but a function computes the column.
func functionTable(t *testing.T, nullable bool) *engine.Table {
	t.Helper()
	_, table := enginetest.CreateComputed(t)
	if _, err := evolution.DropColumns(t.Context(), table, []string{"double"}); err != nil {
		t.Fatal(err)
	}
	if _, err := evolution.AddFunctionColumns(t.Context(), table, use(nullable)); err != nil {
		t.Fatal(err)
	}
	return table
}

// fill runs a backfill of the column with the function.
func (d *doubler) fill(t *testing.T, table *engine.Table, where string) (fill.Result, []fill.RowFailure, error) {
	t.Helper()
	var failed []fill.RowFailure
	got, err := fill.Run(t.Context(), table, fill.Order{
		Column: "double", Where: where,
		Open: func(_ context.Context, b *schemaapi.FunctionBinding) (udf.Caller, []arrow.Field, error) {
			if b.ID != "fb_1" || b.Outputs[0].FieldID == 0 || b.Inputs[0].FieldID != 0 {
				t.Errorf("the binding is %+v", b)
			}
			return d, []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil
		},
		Failed: func(f fill.RowFailure) { failed = append(failed, f) },
	})
	return got, failed, err
}

// Rows whose function fails stay null, are counted, and are reported with their place in the fragment.
func TestRunReportsRowsWhoseFunctionFails(t *testing.T) {
	table := functionTable(t, false)
	if _, err := table.Delete(t.Context(), "id = 3"); err != nil {
		t.Fatal(err)
	}
	f := &doubler{bad: []int64{2, 4}}
	got, failed, err := f.fill(t, table, "")
	if err != nil || got.Assigned != 2 || got.Failed != 3 || f.closed != 1 {
		t.Fatalf("got %+v, %v; closed %d times", got, err, f.closed)
	}
	want := []fill.RowFailure{
		{Fragment: 0, Offset: 1, Function: "twice", Version: "1", Failure: udf.Failure{Row: 1, Type: "Bad", Message: "2"}},
		{Fragment: 1, Offset: 1, Function: "twice", Version: "1", Failure: udf.Failure{Row: 0, Type: "Bad", Message: "4"}},
		{Fragment: 2, Offset: 1, Function: "twice", Version: "1", Failure: udf.Failure{Row: 1, Type: "NullOutput"}},
	}
	for i := range failed {
		if failed[i].Type == "NullOutput" {
			failed[i].Message = ""
		}
	}
	if !slices.Equal(failed, want) {
		t.Errorf("failed are\n%+v, want\n%+v", failed, want)
	}
	if rows := doubles(t, table); !slices.Equal(rows, []string{"1:2", "2:(null)", "4:(null)", "5:10", "(null):(null)"}) {
		t.Errorf("rows are %q", rows)
	}
	// Another run tries only the failed rows.
	f = &doubler{bad: []int64{4}}
	if got, _, err := f.fill(t, table, ""); err != nil || got.Assigned != 1 || got.Failed != 2 || f.rows != 3 {
		t.Errorf("again: got %+v, %v, called with %d rows", got, err, f.rows)
	}
	// A condition also selects rows that have a value. If the function now fails, the value is lost.
	f = &doubler{bad: []int64{1}}
	if got, _, err := f.fill(t, table, "id < 3"); err != nil || got.Assigned != 1 || got.Failed != 1 || f.rows != 2 {
		t.Errorf("with a condition: got %+v, %v, called with %d rows", got, err, f.rows)
	}
	if rows := doubles(t, table); !slices.Equal(rows, []string{"1:(null)", "2:4", "4:(null)", "5:10", "(null):(null)"}) {
		t.Errorf("then rows are %q", rows)
	}
}

// If the output may be null, another column records which rows have one.
func TestRunFillsNullableOutputsOnce(t *testing.T) {
	table := functionTable(t, true)
	f := &doubler{bad: []int64{2}}
	if got, _, err := f.fill(t, table, ""); err != nil || got.Assigned != 5 || got.Failed != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	f = &doubler{}
	if got, _, err := f.fill(t, table, ""); err != nil || got.Assigned != 1 || f.rows != 1 {
		t.Errorf("again: got %+v, %v, called with %d rows", got, err, f.rows)
	}
	if rows := doubles(t, table); !slices.Equal(rows, filledDoubles) {
		t.Errorf("rows are %q", rows)
	}
	if _, err := evolution.DropColumns(t.Context(), table, []string{"double"}); err != nil {
		t.Fatal(err)
	}
	err := engine.Do(t.Context(), table, nil, func(_ context.Context, d *dataset.Dataset) error {
		if len(d.Schema().Fields) != 1 || len(d.Schema().Metadata) != 0 {
			t.Errorf("left are %v with %v", d.ArrowSchema(), d.Schema().Metadata)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A result that differs from the declaration of the function ends the run.
func TestRunRefusesResultsThatAreNotDeclared(t *testing.T) {
	for name, breaks := range map[string]func(*udf.Result){
		"returned 1 rows":      func(r *udf.Result) { r.Outputs = r.Outputs.NewSlice(0, 1) },
		"of 0 columns":         func(r *udf.Result) { r.Outputs = array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 2) },
		"failed for row 7":     func(r *udf.Result) { r.Failed = []udf.Failure{{Row: 7}} },
		"failed for row -1":    func(r *udf.Result) { r.Failed = []udf.Failure{{Row: -1}} },
		"failed for row 0 of ": func(r *udf.Result) { r.Failed = []udf.Failure{{Row: 0}, {Row: 0}} },
		"values of type bool": func(r *udf.Result) {
			b := array.NewBooleanBuilder(arrowmemory.DefaultAllocator)
			b.AppendValues([]bool{true, false}, nil)
			r.Outputs = array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.FixedWidthTypes.Boolean}}, nil), []arrow.Array{b.NewArray()}, 2)
		},
	} {
		table := functionTable(t, false)
		_, _, err := (&doubler{breaks: breaks}).fill(t, table, "")
		if !protocol.HasCode(err, protocol.InvalidInput) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want InvalidInput with %q", err, name)
		}
	}
}

func TestRunRefusesFunctionsThatCannotBeOpened(t *testing.T) {
	table := functionTable(t, false)
	if _, err := fill.Run(t.Context(), table, fill.Order{Column: "double"}); !protocol.HasCode(err, protocol.Unsupported) {
		t.Errorf("without runtimes: got %v, want Unsupported", err)
	}
	broken := errors.New("broken")
	_, err := fill.Run(t.Context(), table, fill.Order{Column: "double", Open: func(context.Context, *schemaapi.FunctionBinding) (udf.Caller, []arrow.Field, error) {
		return nil, nil, broken
	}})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the runtime", err)
	}
	if use, err := fill.Check(t.Context(), table, fill.Order{Column: "double"}); err != nil || use == nil {
		t.Errorf("check: got the use %v and %v", use, err)
	}
}
