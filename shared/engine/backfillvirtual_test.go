package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/multipart"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// virtualColumns returns columns of the function udf over id, by the members of its result.
func virtualColumns(udf string, members map[string]string) *arrow.Schema {
	var fields []arrow.Field
	for _, column := range slices.Sorted(maps.Keys(members)) {
		metadata := map[string]string{
			"virtual_column": "true", "virtual_column.udf": udf, "virtual_column.udf_name": "twice", "virtual_column.udf_version": "2",
			"virtual_column.udf_backend": "pickle", "virtual_column.udf_inputs": `["id"]`, "virtual_column.struct_field": members[column],
		}
		fields = append(fields, arrow.Field{Name: column, Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: arrow.MetadataFrom(metadata)})
	}
	return arrow.NewSchema(fields, nil)
}

// virtualTable is computedTable whose column comes with its function.
func virtualTable(t *testing.T, udf string, members map[string]string, envelopes map[string]string) (objectstore.Store, *engine.Table) {
	t.Helper()
	objects, table := computedTable(t)
	if _, err := evolution.DropColumns(t.Context(), table, []string{"double"}); err != nil {
		t.Fatal(err)
	}
	if _, err := evolution.AddVirtualColumns(t.Context(), table, virtualColumns(udf, members), []string{"id"}, envelopes); err != nil {
		t.Fatal(err)
	}
	return objects, table
}

func TestVirtualColumnsAreFilled(t *testing.T) {
	_, table := virtualTable(t, base64.StdEncoding.EncodeToString([]byte("code")), map[string]string{"double": ""}, nil)
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

// Only members of one result are computed together.
func TestMembersOfOneResult(t *testing.T) {
	_, table := virtualTable(t, "Y29kZQ==", map[string]string{"a": "x", "b": "y"}, nil)
	if _, err := evolution.AddVirtualColumns(t.Context(), table, virtualColumns("b3RoZXI=", map[string]string{"c": "x"}), nil, nil); err != nil {
		t.Fatal(err)
	}
	err := engine.Do(t.Context(), table, nil, func(ctx context.Context, d *dataset.Dataset) error {
		c, err := computed.Open(ctx, d, "b", "")
		if err == nil && (len(c.Envelope.Outputs) != 2 || c.Envelope.Outputs[0].Name != "x" || c.Envelope.Outputs[1].Name != "y") {
			t.Errorf("outputs are %v", c.Envelope.Outputs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBackendsThatNothingRuns(t *testing.T) {
	_, table := virtualTable(t, "Y29kZQ==", map[string]string{"double": ""}, nil)
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

// A file with a function is used only if it is the one whose digest the metadata has.
func TestFilesOfFunctions(t *testing.T) {
	text := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("code"), 100))
	sum := sha256.Sum256([]byte(text))
	key := computed.EnvelopeFolder + hex.EncodeToString(sum[:])
	objects, table := virtualTable(t, key, map[string]string{"double": ""}, map[string]string{key: text})
	open := func() (content []byte, err error) {
		err = engine.Do(t.Context(), table, nil, func(ctx context.Context, d *dataset.Dataset) error {
			c, err := computed.Open(ctx, d, "double", "")
			if err != nil {
				return err
			}
			spec, err := c.Envelope.Spec(ctx)
			content = spec.Artifact
			return err
		})
		return content, err
	}
	if content, err := open(); err != nil || len(content) != 400 {
		t.Errorf("got %d bytes, %v", len(content), err)
	}
	var err error
	for _, other := range []string{"forged", ""} {
		if other == "" {
			err = objects.Delete(t.Context(), multipart.Parts(table.Data()).Prefix+"/"+key, objectstore.Condition{})
		} else {
			_, err = objects.Put(t.Context(), multipart.Parts(table.Data()).Prefix+"/"+key, []byte(other), objectstore.Condition{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(); !protocol.HasCode(err, protocol.InvalidTableState) {
			t.Errorf("%q: error %v", other, err)
		}
	}
	for _, bad := range []string{"_udfs/../data/x", "_udfs/", "not base64"} {
		_, err := computed.ReadEnvelope(t.Context(), objects, "x", bad)
		var wrong *protocol.Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}
