package indexbuild_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// newTable makes a table of two rows, with columns of several types.
func newTable(t *testing.T) *dataset.Dataset {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "number", Type: arrow.PrimitiveTypes.Int64},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "labels", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "struct", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64})},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(
		`[{"number": 1, "text": "one two", "labels": ["a", "b"], "struct": {"a": 1}}, {"number": 2, "text": null, "labels": null, "struct": {"a": 2}}]`))
	if err != nil {
		t.Fatal(err)
	}
	rows := dataset.Rows{Schema: s, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	at := objectstore.Location{URI: "memory://test/t.lance", Store: memstore.New(), Prefix: "t.lance"}
	made, err := dataset.NewSession(1<<20, time.Now).Table(at, 0).Create(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

// fitting returns a column for each kind whose indices can be built without parameters.
func fitting(t *testing.T) map[indexmeta.Kind]string {
	t.Helper()
	columns, d := map[indexmeta.Kind]string{}, newTable(t)
	for _, kind := range kinds.All {
		if kind.Types != nil {
			continue
		}
		for _, column := range []string{"number", "text", "labels"} {
			if _, err := (indexbuild.Index{Name: "x", Column: column, Kind: kind.Kind}).Resolve(d); err == nil {
				columns[kind.Kind] = column
			}
		}
		if columns[kind.Kind] == "" {
			t.Errorf("%v fits no column", kind)
		}
	}
	return columns
}

func TestIndicesAreBuiltOfColumnsThatFit(t *testing.T) {
	for kind, column := range fitting(t) {
		n := indexbuild.Index{Name: "x", Column: column, Kind: kind}
		d := newTable(t)
		resolved, err := n.Resolve(d)
		if err != nil {
			t.Errorf("%v: %v", kind, err)
			continue
		}
		made, err := segments.Create(t.Context(), d, resolved)
		if err != nil {
			t.Errorf("%v: %v", kind, err)
			continue
		}
		got, err := made.Index("x")
		if err != nil || got.Kind.Of != kind || !slices.Equal(got.Columns, []string{column}) {
			t.Errorf("%v: got %+v, %v; want it on %s", kind, got, err, column)
		}
		if !(indexbuild.Extender{}).CanExtend(got) {
			t.Errorf("%v: an index that was built cannot be extended", kind)
		}
	}
}

func TestIndicesThatDoNotFitAreRefused(t *testing.T) {
	d := newTable(t)
	for kind := range fitting(t) {
		_, err := indexbuild.Index{Name: "x", Column: "struct", Kind: kind}.Resolve(d)
		wantCode(t, kind.String(), err, protocol.InvalidInput)
	}
	for _, kind := range ivf.Kinds() {
		_, err := indexbuild.Index{Name: "x", Column: "text", Kind: indexmeta.Vector, Params: ivf.Recipe{Kind: kind}}.Resolve(d)
		wantCode(t, kind, err, protocol.InvalidInput)
	}
	wantCode(t, "a kind that is not built", indexbuild.Index{Kind: indexmeta.RTree}.CanBuild(), protocol.Unsupported)
	wantCode(t, "vectors of an unknown kind", indexbuild.Index{Kind: indexmeta.Vector, Params: ivf.Recipe{Kind: "IVF_X"}}.CanBuild(), protocol.Unsupported)
	var unknown *snapshot.ErrNoColumn
	if _, err := (indexbuild.Index{Name: "x", Column: "nope", Kind: indexmeta.BTree}).Resolve(d); !errors.As(err, &unknown) {
		t.Errorf("got %v, want that there is no such column", err)
	}
}

func TestExtenderRefusesWhatIsNotBuilt(t *testing.T) {
	for what, x := range map[string]snapshot.Index{
		"two columns":              {Named: []string{"a", "b"}, Kind: indexmeta.Description{Of: indexmeta.BTree}},
		"a kind that is not built": {Named: []string{"a"}, Kind: indexmeta.Description{Of: indexmeta.RTree}},
		"vectors of bits":          {Named: []string{"a"}, Kind: indexmeta.Description{Of: indexmeta.Vector, Type: ivf.Kinds()[0], Metric: "hamming"}},
	} {
		if (indexbuild.Extender{}).CanExtend(x) {
			t.Errorf("%s: it is said that segments of it can be built", what)
		}
	}
}

func wantCode(t *testing.T, what string, err error, code protocol.Code) {
	t.Helper()
	if told := new(protocol.Error); !errors.As(err, &told) || told.Code != code {
		t.Errorf("%s: got %v, want an error of code %v", what, err, code)
	}
}
