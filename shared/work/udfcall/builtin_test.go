package udfcall

import (
	"encoding/json"
	"testing"

	"tiltyard/shared/catalog/builtin"
	"tiltyard/shared/engine/udf"
	builtins "tiltyard/shared/engine/udf/builtin"
	"tiltyard/shared/protocol/functionapi"
)

// Each function of the catalog's reserved namespace runs, with the constants and types that it declares.
func TestBuiltinFunctionsRun(t *testing.T) {
	directory := Directory{Runtimes: udf.Runtimes{builtin.Runtime: builtins.Runtime{}}}
	names := builtin.Names("")
	if len(names) == 0 {
		t.Fatal("there are none")
	}
	for _, name := range names {
		record, err := builtin.Find([]string{builtin.Namespace, name})
		if err != nil || record == nil {
			t.Fatalf("%s: %v, %v", name, record, err)
		}
		var d functionapi.Definition
		if err := json.Unmarshal(record.Versions[0].Definition, &d); err != nil {
			t.Fatal(err)
		}
		spec, err := SpecOf(record.ID, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := directory.Prove(t.Context(), spec, d); err != nil || !ok {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}
