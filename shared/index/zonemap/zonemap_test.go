package zonemap

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
)

func valueType(t testing.TB, f indextest.Folder) arrow.DataType { return f.Type(t, lookupFile, "min") }

// floats returns an array of floats, with NULL for a nil value.
func floats(values ...any) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	for _, v := range values {
		if v == nil {
			b.AppendNull()
		} else {
			b.Append(v.(float64))
		}
	}
	return b.NewArray()
}

func counts(values ...uint32) arrow.Array {
	b := array.NewUint32Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func words(values ...uint64) arrow.Array {
	b := array.NewUint64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func bound(values ...float64) index.Bound {
	if len(values) == 0 {
		return index.Bound{}
	}
	return index.Bound{Value: floats(values[0])}
}

func TestZonesThatMayHaveAValue(t *testing.T) {
	nan := math.NaN()
	z, err := newZoneMap([]arrow.Array{
		floats(2.0, nil, 9.0, 1.0, nil, nil), floats(5.0, nil, 9.0, nan, nan, nil),
		counts(0, 8, 0, 0, 0, 1), counts(0, 0, 0, 1, 8, 0),
		words(0, 0, 0, 1, 1, 1), words(0, 8, 16, 0, 8, 16), words(8, 8, 8, 8, 8, 8),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		asked index.Range
		want  string // a letter for each zone: 2 to 5, all NULL, just 9, from 1 with a NaN, all NaN, unknown
	}{
		"4":              {index.Range{From: bound(4), To: bound(4)}, "a--d-f"},
		"9":              {index.Range{From: bound(9), To: bound(9)}, "--cd-f"},
		"NaN":            {index.Range{From: bound(nan), To: bound(nan)}, "---def"},
		"6 to 8":         {index.Range{From: bound(6), To: bound(8)}, "---d-f"},
		"5 or more":      {index.Range{From: bound(5)}, "a-cdef"},
		"more than 5":    {index.Range{From: index.Bound{Value: floats(5.0), Excluded: true}}, "--cdef"},
		"less than 2":    {index.Range{To: index.Bound{Value: floats(2.0), Excluded: true}}, "---def"},
		"0.5 at most":    {index.Range{To: bound(0.5)}, "---def"},
		"0 to 0.5":       {index.Range{From: bound(0), To: bound(0.5)}, "-----f"},
		"whatever":       {index.Range{}, "a-cdef"},
		"up to NaN":      {index.Range{To: bound(nan)}, "a-cdef"},
		"from -NaN to 0": {index.Range{From: bound(math.Copysign(nan, -1)), To: bound(0)}, "---def"},
	} {
		got := []byte("------")
		for i := range z.Len() {
			if z.mayHave(i, []index.Range{c.asked}) {
				got[i] = "abcdef"[i]
			}
		}
		if string(got) != c.want {
			t.Errorf("%s: got zones %s, want %s", name, got, c.want)
		}
	}
}

// A search leaves out no zone whose least or greatest value matches, and finds each row that is NULL.
func TestSearchesFindTheZonesOfValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all, _ := indextest.Segments(t, lookupFile)
	for _, f := range all {
		r, err := Open(t.Context(), f, valueType(t, f))
		if err != nil {
			t.Fatalf("%s: %v", f.Prefix, err)
		}
		left := 0
		for range 30 {
			q := indextest.RandomQuestion(random, r.zones.min)
			found, err := r.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			left += checkZones(t, r, q, found)
			if cost, err := r.Cost(q); err != nil || !q.Null && cost.Rows != found.Rows.Len() {
				t.Errorf("%s: values %s: cost %+v of %d rows; error %v", f.Prefix, q, cost, found.Rows.Len(), err)
			}
		}
		if left == 0 && r.zones.Len() > 1 && valueType(t, f).ID() != arrow.BOOL && !strings.Contains(valueType(t, f).String(), "float") {
			t.Errorf("%s: no search has left out a zone", f.Prefix)
		}
		nulls, err := r.Search(t.Context(), index.Question{Null: true})
		if err != nil || !nulls.Exact {
			t.Fatalf("%s: NULL: exact %t, error %v", f.Prefix, nulls.Exact, err)
		}
		want := int64(0)
		for _, n := range r.zones.nulls {
			want += int64(n)
		}
		if nulls.Rows.Len() != want {
			t.Errorf("%s: %d rows are NULL, want %d", f.Prefix, nulls.Rows.Len(), want)
		}
	}
}

// checkZones returns the number of excluded zones.
func checkZones(t *testing.T, r *Reader, q index.Question, found index.Answer) (left int) {
	t.Helper()
	rows := slices.Collect(found.Rows.All())
	fragments, starts := zoneColumns(t, r)
	for i := range r.zones.Len() {
		_, there := slices.BinarySearch(rows, fragments[i]<<32|starts[i])
		matches := len(q.Ranges) > 0 && (indextest.Matches(r.zones.min, i, index.Question{Ranges: q.Ranges}, r.zones.order) ||
			indextest.Matches(r.zones.max, i, index.Question{Ranges: q.Ranges}, r.zones.order))
		if matches && !there {
			t.Errorf("values %s: zone %d from %s to %s is left out", q, i, r.zones.min.ValueStr(i), r.zones.max.ValueStr(i))
		}
		if !there {
			left++
		}
	}
	return left
}

func zoneColumns(t *testing.T, r *Reader) (fragments, starts []uint64) {
	t.Helper()
	read, err := r.columns.Read(t.Context(), 0, r.columns.File.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	return read[4].(*array.Uint64).Uint64Values(), read[5].(*array.Uint64).Uint64Values()
}

// For any content of a segment's file, reading terminates within a memory limit.
func FuzzRead(f *testing.F) {
	all, files := indextest.Segments(f, lookupFile)
	types := map[string]bool{}
	for _, s := range all {
		if name := valueType(f, s).String(); !types[name] {
			types[name] = true
			f.Add(files[s.Prefix+"/"+lookupFile], uint64(7))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		ctx, s := indextest.Bounded(t), indextest.FolderOf(t, map[string][]byte{lookupFile: data})
		file, err := s.Open(ctx, lookupFile)
		if err != nil {
			return
		}
		described, err := file.Schema(ctx)
		if err != nil || described.Field("min") == nil {
			return
		}
		r, err := Open(ctx, s, described.Field("min").Type)
		if err != nil || r.zones.Len() == 0 {
			return
		}
		q := indextest.RandomQuestion(rand.New(rand.NewPCG(seed, 1)), r.zones.min)
		cost, err := r.Cost(q)
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Search(ctx, q)
		if err == nil && !q.Null && found.Rows.Len() > cost.Rows {
			t.Fatalf("%d rows are found, more than %d", found.Rows.Len(), cost.Rows)
		}
	})
}
