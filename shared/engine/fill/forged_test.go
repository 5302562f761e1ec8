package fill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
)

// alterations returns variants of a JSON value. Each has one part replaced or removed.
func alterations(value any) (all []any) {
	all = []any{nil, "", "x", -1, 1e18, []any{}, map[string]any{}, []any{value, value}, map[string]any{"x": value}}
	switch value := value.(type) {
	case map[string]any:
		for key, part := range value {
			for _, other := range alterations(part) {
				changed := map[string]any{}
				for k, v := range value {
					changed[k] = v
				}
				changed[key] = other
				all = append(all, changed)
			}
		}
	case []any:
		for i, part := range value {
			for _, other := range alterations(part) {
				changed := append([]any{}, value...)
				changed[i] = other
				all = append(all, changed)
			}
		}
	}
	return all
}

// A writer of the files of a table can declare any binding of a function. An invalid one ends with an error that has a code,
// and the function is not called with types that it does not declare.
func TestRunRefusesForgedBindings(t *testing.T) {
	table := functionTable(t, true)
	var declared string
	err := engine.Do(t.Context(), table, nil, func(_ context.Context, d *dataset.Dataset) error {
		declared = d.Schema().Metadata[schemaapi.FunctionBindingsKey]
		return nil
	})
	var good any
	if err := errors.Join(err, json.Unmarshal([]byte(declared), &good)); err != nil {
		t.Fatalf("the uses are %q: %v", declared, err)
	}
	texts := []string{"", "{", "[]", `{"version":1,"bindings":[`, declared + declared}
	for _, bad := range alterations(good) {
		text, err := json.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	refused := 0
	for _, text := range texts {
		_, err := table.Alter(t.Context(), func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
			return d.Commit(ctx, &pb.UpdateConfig{SchemaMetadata: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: schemaapi.FunctionBindingsKey, Value: &text}}}})
		})
		if err != nil {
			t.Fatal(err)
		}
		_, checked := fill.Check(t.Context(), table, fill.Order{Column: "double"})
		_, filled := fill.Run(t.Context(), table, fill.Order{Column: "double", Where: "id > 0", Open: func(context.Context, *schemaapi.FunctionBinding) (udf.Caller, []arrow.Field, error) {
			return &doubler{}, []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil
		}})
		_, behind := fill.AllBehind(t.Context(), table)
		for what, err := range map[string]error{"check": checked, "fill": filled, "behind": behind} {
			if known := (*protocol.Error)(nil); err != nil && !errors.As(err, &known) {
				t.Errorf("%s of %s: got %v, want an error with a code", what, text, err)
			}
		}
		if checked != nil && filled == nil {
			t.Errorf("%s is filled, although it is refused: %v", text, checked)
		}
		if filled != nil {
			refused++
		}
	}
	if refused < len(texts)/2 {
		t.Errorf("%d of %d uses are refused", refused, len(texts))
	}
	if rows := doubles(t, table); len(rows) != 6 {
		t.Errorf("rows are %q", rows)
	}
	t.Log(fmt.Sprint(refused, " of ", len(texts), " uses are refused"))
}
