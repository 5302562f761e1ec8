package bloomfilter

import (
	"errors"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/lance"
)

func TestFiltersHaveWhatWasAdded(t *testing.T) {
	f := make(filter, 6*blockBytes)
	const step = 0x9e3779b97f4a7c15
	for i := range uint64(20) {
		f.add(i * step)
	}
	others := 0
	for i := range uint64(1000) {
		switch has := f.mayHave(i * step); {
		case i < 20 && !has:
			t.Errorf("hash %d of those that were added is not there", i)
		case i >= 20 && has:
			others++
		}
	}
	if others > 100 {
		t.Errorf("%d of 980 other hashes may be there", others)
	}
}

func numbers(values ...float64) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func TestRangesOfOneValueAreHashed(t *testing.T) {
	one, two, nan := index.Bound{Value: numbers(1)}, index.Bound{Value: numbers(2)}, index.Bound{Value: numbers(math.NaN())}
	for name, c := range map[string]struct {
		ranges []index.Range
		hashes int
		all    bool
	}{
		"values":       {[]index.Range{{From: one, To: one}, {From: two, To: two}}, 2, false},
		"a range":      {[]index.Range{{From: one, To: one}, {From: one, To: two}}, 0, true},
		"no bound":     {[]index.Range{{From: one}}, 0, true},
		"NaN":          {[]index.Range{{From: nan, To: nan}}, 0, true},
		"another type": {[]index.Range{{From: index.Bound{Value: array.NewNull(1)}, To: index.Bound{Value: array.NewNull(1)}}}, 0, true},
	} {
		hashes, all, err := hashesOf(t.Context(), c.ranges, arrow.PrimitiveTypes.Float64)
		if len(hashes) != c.hashes || all != c.all || err != nil {
			t.Errorf("%s: got %d hashes, all %t, error %v; want %d, %t", name, len(hashes), all, err, c.hashes, c.all)
		}
	}
}

// A search for a value that is nowhere leaves out nearly all zones, and one for rows that are NULL
// finds these.
func TestSearchesLeaveOutZones(t *testing.T) {
	all, _ := indextest.Segments(t, lookupFile)
	nowhere := index.Bound{Value: numbers(1e300)}
	left, zones, nulls := 0, 0, int64(0)
	for _, f := range all {
		r, err := Open(t.Context(), f, arrow.PrimitiveTypes.Float64)
		if err != nil {
			t.Fatalf("%s: %v", f.Prefix, err)
		}
		q := index.Question{Ranges: []index.Range{{From: nowhere, To: nowhere}}}
		may := make([]bool, r.zones.Len())
		hashes, _, err := hashesOf(t.Context(), q.Ranges, r.column)
		if err == nil {
			err = r.test(t.Context(), hashes, false, may)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, has := range may {
			if zones++; !has {
				left++
			}
		}
		found, err := r.Search(t.Context(), q)
		if err != nil || found.Exact {
			t.Fatalf("%s: exact %t, error %v", f.Prefix, found.Exact, err)
		}
		if cost, err := r.Cost(q); err != nil || cost.Pages != found.Pages || cost.Rows < found.Rows.Len() {
			t.Errorf("%s: cost %+v of %d rows; error %v", f.Prefix, cost, found.Rows.Len(), err)
		}
		null, err := r.Search(t.Context(), index.Question{Null: true})
		if err != nil || !null.Exact {
			t.Fatalf("%s: NULL: exact %t, error %v", f.Prefix, null.Exact, err)
		}
		nulls += null.Rows.Len()
	}
	if left*10 < zones*9 || nulls == 0 {
		t.Errorf("%d of %d zones are left out; %d rows are NULL", left, zones, nulls)
	}
}

func TestValuesOfSomeTypesHaveNoFilter(t *testing.T) {
	all, _ := indextest.Segments(t, lookupFile)
	for _, column := range []arrow.DataType{arrow.FixedWidthTypes.Boolean, &arrow.Decimal128Type{Precision: 10, Scale: 2}, arrow.FixedWidthTypes.Float16} {
		if _, err := Open(t.Context(), all[0], column); !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("a column of type %s: got %v, want lance.ErrUnsupported", column, err)
		}
	}
}

// Whatever is in the file of a segment, reading it ends, within a bound of memory.
func FuzzRead(f *testing.F) {
	all, files := indextest.Segments(f, lookupFile)
	for _, s := range all[:3] {
		f.Add(files[s.Prefix+"/"+lookupFile], 1.5, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, value float64, null bool) {
		ctx, s := indextest.Bounded(t), indextest.FolderOf(t, map[string][]byte{lookupFile: data})
		r, err := Open(ctx, s, arrow.PrimitiveTypes.Float64)
		if err != nil {
			return
		}
		bound := index.Bound{Value: numbers(value)}
		q := index.Question{Ranges: []index.Range{{From: bound, To: bound}}, Null: null}
		cost, err := r.Cost(q)
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Search(ctx, q)
		if err == nil && !null && found.Rows.Len() > cost.Rows {
			t.Fatalf("%d rows are found, more than %d", found.Rows.Len(), cost.Rows)
		}
	})
}
