package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore/memstore"
)

// wideRows have keys of two columns, one of them with a member.
var wideRows = arrow.NewSchema([]arrow.Field{
	{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}), Nullable: true},
	{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "w", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// randomRows makes rows in several batches; few keys differ, so that many match.
func randomRows(t *testing.T, r *rand.Rand, schema *arrow.Schema, rows, keys int) dataset.Rows {
	t.Helper()
	var batches []arrow.RecordBatch
	for rows > 0 {
		n := min(rows, 1+r.IntN(7))
		rows -= n
		lines := make([]string, n)
		for i := range lines {
			k, s := fmt.Sprintf("%q", fmt.Sprint("k", r.IntN(keys))), fmt.Sprintf(`{"a":%d}`, r.IntN(2))
			switch r.IntN(12) {
			case 0:
				k = "null"
			case 1:
				s = "null"
			case 2:
				s = `{"a":null}`
			}
			lines[i] = fmt.Sprintf(`{"k":%s,"s":%s,"v":%d,"w":"w%d"}`, k, s, r.IntN(5), r.IntN(100))
		}
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, wideRows, strings.NewReader("["+strings.Join(lines, ",")+"]"))
		if err != nil {
			t.Fatal(err)
		}
		columns := make([]arrow.Array, schema.NumFields())
		for i, f := range schema.Fields() {
			columns[i] = batch.Column(wideRows.FieldIndices(f.Name)[0])
		}
		batches = append(batches, array.NewRecordBatch(schema, columns, batch.NumRows()))
	}
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
		}
	}}
}

// mergeCopy merges into a new table of the rows, and says what came out.
func mergeCopy(t *testing.T, limits engine.Limits, stable bool, target, source dataset.Rows, spec merge.Spec) string {
	t.Helper()
	table := enginetest.Table(memstore.New(), limits)
	if _, err := table.Data().CreateAs(t.Context(), target, dataset.CreateOptions{StableRowIDs: stable}); err != nil {
		t.Fatal(err)
	}
	done, err := table.Merge(t.Context(), source, spec)
	done.Transaction = ""
	lines := enginetest.Show(t, table, &query.Query{Columns: []query.Column{
		{Name: "k"}, {Name: "s"}, {Name: "v"}, {Name: "w"}, {Name: snapshot.RowID},
	}})
	slices.Sort(lines)
	if err != nil { // which row it names is no matter
		return strings.Join(append(lines, strings.Split(err.Error(), " on ")[0]), "\n")
	}
	return strings.Join(append(lines, fmt.Sprintf("%+v", done)), "\n")
}

// A source of many rows is matched by way of the scratch directory, with the outcome that it
// would have in memory. Nothing stays there.
func TestLargeMergesComeOutAsSmallOnes(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	r := rand.New(rand.NewPCG(7, 8))
	narrow := arrow.NewSchema([]arrow.Field{wideRows.Field(2), wideRows.Field(0), wideRows.Field(1)}, nil)
	for range 80 {
		spec := merge.Spec{On: []string{"k"}, UpdateAll: r.IntN(3) > 0, InsertAll: r.IntN(2) > 0, BySource: r.IntN(3) == 0}
		if !spec.UpdateAll && !spec.InsertAll && !spec.BySource {
			continue
		}
		if r.IntN(2) == 0 {
			spec.On = []string{"s", "k"}
		}
		if spec.UpdateAll && r.IntN(2) == 0 {
			spec.UpdateIf = "source.v > target.v"
		}
		if spec.BySource && r.IntN(2) == 0 {
			spec.BySourceIf = "v > 2"
		}
		schema := wideRows
		if r.IntN(3) == 0 {
			schema = narrow
		}
		stable, keys := r.IntN(2) == 0, 5+r.IntN(200)
		target := randomRows(t, r, wideRows, 30+r.IntN(100), keys)
		source := randomRows(t, r, schema, r.IntN(60), keys)
		want := mergeCopy(t, engine.Limits{}, stable, target, source, spec)
		got := mergeCopy(t, engine.Limits{HeldBytes: 100, MappedRows: 1 + r.IntN(5)}, stable, target, source, spec)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v (-in memory +on disk):\n%s", spec, diff)
		}
	}
	if left, _ := filepath.Glob(scratch + "/*"); len(left) != 0 {
		t.Errorf("%v are left in the scratch directory", left)
	}
}

func TestMergeSaysWhenTheScratchDirectoryIsGone(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	table := enginetest.Table(memstore.New(), engine.Limits{HeldBytes: 1})
	if _, err := table.Create(t.Context(), enginetest.Rows(t, pairs, `[{"id":1,"v":"a"}]`)); err != nil {
		t.Fatal(err)
	}
	_, err := table.Merge(t.Context(), enginetest.Rows(t, pairs, `[{"id":1,"v":"b"}]`), merge.Spec{On: []string{"id"}, UpdateAll: true})
	if err == nil || !strings.Contains(err.Error(), "scratch file") || !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("got %v, want that the scratch file cannot be made", err)
	}
}

func unwrapAll(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return err
		}
		err = inner.Unwrap()
	}
}
