package zonefile_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/zonefile"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/rowset"
)

const file = "zones.lance"

func uints(values ...uint64) arrow.Array {
	b := array.NewUint64Builder(arrowmemory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

// rowsAt returns one batch with a row at each address. The values are the places of the rows in it, and
// NULL where these divide by three.
func rowsAt(addresses ...uint64) iter.Seq2[arrow.RecordBatch, error] {
	values := array.NewUint64Builder(arrowmemory.DefaultAllocator)
	for i := range addresses {
		if i%3 == 0 {
			values.AppendNull()
		} else {
			values.Append(uint64(i))
		}
	}
	columns := []arrow.Array{values.NewArray(), uints(addresses...)}
	s := arrow.NewSchema([]arrow.Field{{Name: "value", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}, {Name: "row", Type: arrow.PrimitiveTypes.Uint64}}, nil)
	return func(yield func(arrow.RecordBatch, error) bool) {
		yield(array.NewRecordBatch(s, columns, int64(len(addresses))), nil)
	}
}

// A counter counts the rows added to each zone.
type counter struct {
	zones []int
	open  int
}

func (c *counter) Add(_ arrow.Array, from, to int) error { c.open += to - from; return nil }

func (c *counter) End(context.Context, *zonefile.Builder) error {
	c.zones, c.open = append(c.zones, c.open), 0
	return nil
}

func (c *counter) Bytes() int64 { return 0 }

// build writes the zones of rows to a file, and opens that.
func build(t *testing.T, size int, addresses ...uint64) *datafile.File {
	t.Helper()
	b, err := zonefile.Build(t.Context(), size, rowsAt(addresses...), &counter{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	out := indextest.NewOutput(t)
	s := arrow.NewSchema(zonefile.Fields(), nil)
	to, err := out.Create(t.Context(), file, s)
	if err != nil {
		t.Fatal(err)
	}
	columns := b.Columns()
	if err := to.Write(t.Context(), array.NewRecordBatch(s, columns, int64(columns[0].Len()))); err != nil {
		t.Fatal(err)
	}
	if err := b.Finish(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	return open(t, out)
}

func open(t *testing.T, out indextest.Output) *datafile.File {
	t.Helper()
	opened, err := out.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// told is the content of a file: its zones and its NULL rows.
type told struct {
	Rows  []uint64 // of all zones
	Nulls []uint64
	Zones int
}

func read(t *testing.T, opened *datafile.File) told {
	t.Helper()
	s, err := opened.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	columns := &index.Columns{File: opened, Schema: s, Fields: s.Fields}
	words, err := columns.Read(t.Context(), 0, opened.NumRows())
	if err != nil {
		t.Fatal(err)
	}
	zones, err := zonefile.New(words)
	if err != nil {
		t.Fatal(err)
	}
	rows, nulls := rowset.At(), rowset.At()
	if err := zones.Add(t.Context(), rows, func(int) bool { return true }); err != nil {
		t.Fatal(err)
	}
	known, err := zonefile.Nulls(t.Context(), indextest.Folder{}, file, columns, nulls)
	if err != nil || !known {
		t.Fatalf("rows that are NULL: %t, %v", known, err)
	}
	return told{Rows: slices.Collect(rows.All()), Nulls: slices.Collect(nulls.All()), Zones: zones.Len()}
}

func TestZonesEndWithTheirRowsOrTheirFragment(t *testing.T) {
	c := &counter{}
	// Row 2 of fragment 0 is deleted.
	b, err := zonefile.Build(t.Context(), 3, rowsAt(0, 1, 3, 4, 1<<32, 1<<32+1), c)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	columns := b.Columns()
	if want := []int{3, 1, 2}; !slices.Equal(c.zones, want) {
		t.Errorf("got zones of %v rows, want %v", c.zones, want)
	}
	for i, want := range [][]uint64{{0, 0, 1}, {0, 4, 0}, {4, 1, 2}} {
		if got := columns[i].(*array.Uint64).Uint64Values(); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", zonefile.Names[i], got, want)
		}
	}
}

func TestFilesThatAreJoinedHaveTheZonesOfAll(t *testing.T) {
	parts := []*datafile.File{build(t, 2, 0, 1, 2), build(t, 2, 1<<32, 1<<32+1)}
	out := indextest.NewOutput(t)
	if err := zonefile.Join(t.Context(), parts, file, out); err != nil {
		t.Fatal(err)
	}
	want := told{Rows: []uint64{0, 1, 2, 1 << 32, 1<<32 + 1}, Nulls: []uint64{0, 1 << 32}, Zones: 3}
	if diff := cmp.Diff(want, read(t, open(t, out))); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestAddTakesRowsOfZonesThatPass(t *testing.T) {
	zones, err := zonefile.New([]arrow.Array{uints(0, 0, 1), uints(0, 2, 7), uints(2, 2, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pass []int
		want []uint64
	}{
		{nil, nil},
		{[]int{0}, []uint64{0, 1}},
		{[]int{1, 2}, []uint64{2, 3, 1<<32 + 7}},
		{[]int{0, 1, 2}, []uint64{0, 1, 2, 3, 1<<32 + 7}},
	} {
		may := func(zone int) bool { return slices.Contains(c.pass, zone) }
		set := rowset.At()
		if err := zones.Add(t.Context(), set, may); err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(set.All()); !slices.Equal(got, c.want) {
			t.Errorf("zones %v: got rows %v, want %v", c.pass, got, c.want)
		}
		if got := zones.RowsOf(may); got != int64(len(c.want)) {
			t.Errorf("zones %v: got %d rows, want %d", c.pass, got, len(c.want))
		}
	}
}

func TestZonesWithoutAddressesAreCorrupt(t *testing.T) {
	for what, columns := range map[string][]arrow.Array{
		"a fragment beyond 32 bits": {uints(1 << 32), uints(0), uints(1)},
		"a start beyond 32 bits":    {uints(0), uints(1 << 32), uints(1)},
		"an end beyond 32 bits":     {uints(0), uints(math.MaxUint32), uints(1)},
		"a length that overflows":   {uints(0), uints(1), uints(math.MaxUint64)},
		"NULL":                      {uints(0), uints(0), array.MakeArrayOfNull(arrowmemory.DefaultAllocator, arrow.PrimitiveTypes.Uint64, 1)},
		"another type":              {uints(0), uints(0), array.MakeArrayOfNull(arrowmemory.DefaultAllocator, arrow.PrimitiveTypes.Int64, 1)},
	} {
		if _, err := zonefile.New(columns); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got %v, want lance.ErrCorrupt", what, err)
		}
	}
}
