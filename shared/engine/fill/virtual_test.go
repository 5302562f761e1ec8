package fill_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol"
)

func TestRunFillsVirtualColumns(t *testing.T) {
	_, table := enginetest.CreateVirtual(t, enginetest.VirtualColumns(base64.StdEncoding.EncodeToString([]byte("code")), map[string]string{"double": ""}), nil)
	f := &doubler{bad: []int64{4}}
	var spec udf.Spec
	var failed []fill.RowFailure
	order := fill.Order{
		Column: "double",
		OpenEnvelope: func(ctx context.Context, e *computed.Envelope) (udf.Caller, error) {
			var err error
			spec, err = e.Spec(ctx)
			return f, err
		},
		Failed: func(f fill.RowFailure) { failed = append(failed, f) },
	}
	got, err := fill.Run(t.Context(), table, order)
	if err != nil || got.Assigned != 5 || got.Failed != 1 || f.closed != 1 {
		t.Fatalf("got %+v, %v; closed %d times", got, err, f.closed)
	}
	if rows := doubles(t, table); !slices.Equal(rows, []string{"1:2", "2:4", "3:6", "4:(null)", "5:10", "(null):(null)"}) {
		t.Errorf("got %v", rows)
	}
	sum := sha256.Sum256([]byte("code"))
	if string(spec.Artifact) != "code" || spec.Digest != "sha256:"+hex.EncodeToString(sum[:]) || spec.Name != "twice" || spec.Version != "2" ||
		spec.Kind != udf.Envelope || !strings.Contains(string(spec.Runtime), `"pickle"`) || spec.Inputs[0].Name != "id" || spec.Outputs[0].Name != "result" {
		t.Errorf("the function is %+v", spec)
	}
	if len(failed) != 1 || failed[0].Function != "twice" || failed[0].Version != "2" {
		t.Errorf("failed are %v", failed)
	}
	// An update of an input makes the values of its fragment stale.
	if _, err := table.Update(t.Context(), []engine.Assignment{{Column: "id", SQL: "7"}}, "id = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := fill.Run(t.Context(), table, order); err != nil {
		t.Fatal(err)
	}
	if rows := doubles(t, table); !slices.Contains(rows, "7:14") {
		t.Errorf("got %v", rows)
	}
}

func TestRunRefusesUnknownBackends(t *testing.T) {
	_, table := enginetest.CreateVirtual(t, enginetest.VirtualColumns("Y29kZQ==", map[string]string{"double": ""}), nil)
	order := fill.Order{Column: "double", Runs: func(runtime []byte) error {
		if !strings.Contains(string(runtime), `"kind":"envelope","backend":"pickle"`) {
			t.Errorf("got the runtime %s", runtime)
		}
		return udf.NoBackend("pickle")
	}}
	if _, err := fill.Check(t.Context(), table, order); protocol.CodeOf(err) != protocol.Unsupported || !strings.Contains(err.Error(), "pickle") {
		t.Errorf("error %v", err)
	}
	if _, err := fill.Run(t.Context(), table, order); protocol.CodeOf(err) != protocol.Unsupported {
		t.Errorf("error %v", err)
	}
}
