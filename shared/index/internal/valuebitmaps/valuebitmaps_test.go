package valuebitmaps_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/valuebitmaps"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// A row is a key, as a number or "null", and the addresses of the rows that have it.
type row struct {
	key  string
	rows []uint64
}

// rowBytes returns addresses in the encoding of the file: see [index.AddRows].
func rowBytes(t *testing.T, addresses []uint64) []byte {
	t.Helper()
	fragments := map[uint32]*roaring.Bitmap{}
	for _, a := range addresses {
		id := uint32(a >> 32)
		if fragments[id] == nil {
			fragments[id] = roaring.New()
		}
		fragments[id].Add(uint32(a))
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(fragments)))
	for _, id := range slices.Sorted(maps.Keys(fragments)) {
		bitmap, err := fragments[id].ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		data = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(data, id), uint32(len(bitmap)))
		data = append(data, bitmap...)
	}
	return data
}

// segment returns a segment with such rows.
func segment(t *testing.T, rows []row) indextest.Folder {
	t.Helper()
	columns := arrow.NewSchema([]arrow.Field{
		{Name: "keys", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "bitmaps", Type: arrow.BinaryTypes.Binary, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, columns)
	for _, r := range rows {
		if err := b.Field(0).AppendValueFromString(r.key); err != nil {
			t.Fatal(err)
		}
		if r.rows == nil {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.BinaryBuilder).Append(rowBytes(t, r.rows))
		}
	}
	return fileOf(t, b.NewRecordBatch())
}

func fileOf(t *testing.T, batch arrow.RecordBatch) indextest.Folder {
	t.Helper()
	s, err := schema.FromArrow(batch.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w, err := datafile.NewWriter(&file, s, lance.V2_0)
	if err == nil {
		err = w.Write(batch)
	}
	if err == nil {
		_, err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return indextest.FolderOf(t, map[string][]byte{valuebitmaps.Bitmaps.File: file.Bytes()})
}

func open(t *testing.T, f indextest.Folder) *valuebitmaps.Keys {
	t.Helper()
	k, err := valuebitmaps.Open(t.Context(), f, valuebitmaps.Bitmaps, arrow.PrimitiveTypes.Int64)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// between returns the question for the keys in an interval; "" is unbounded.
func between(from, to string, excluded bool) index.Question {
	bound := func(text string) index.Bound {
		if text == "" {
			return index.Bound{}
		}
		n, _ := strconv.ParseInt(text, 10, 64)
		b := array.NewInt64Builder(arrowmemory.DefaultAllocator)
		b.Append(n)
		return index.Bound{Value: b.NewArray(), Excluded: excluded}
	}
	return index.Question{Ranges: []index.Range{{From: bound(from), To: bound(to)}}}
}

func TestQuestionsFindTheRowsOfTheirKeys(t *testing.T) {
	// As older writers do, the keys are in no order.
	k := open(t, segment(t, []row{
		{"30", []uint64{3, 1<<32 | 7}}, {array.NullValueStr, []uint64{9}}, {"10", []uint64{1, 2}}, {"20", []uint64{2}}, {"-5", []uint64{1 << 32}},
	}))
	null := between("10", "10", false)
	null.Null = true
	cases := []struct {
		name string
		q    index.Question
		want []uint64
	}{
		{"one key", between("10", "10", false), []uint64{1, 2}},
		{"a range", between("10", "30", false), []uint64{1, 2, 3, 1<<32 | 7}},
		{"a range without its bounds", between("10", "30", true), []uint64{2}},
		{"no lower bound", between("", "10", true), []uint64{1 << 32}},
		{"no upper bound", between("20", "", false), []uint64{2, 3, 1<<32 | 7}},
		{"no bound, which is no NULL", between("", "", false), []uint64{1, 2, 3, 1 << 32, 1<<32 | 7}},
		{"bounds that cross", between("30", "10", false), nil},
		{"a key that is not there", between("15", "15", false), nil},
		{"NULL", index.Question{Null: true}, []uint64{9}},
		{"a key or NULL", null, []uint64{1, 2, 9}},
		{"nothing", index.Question{}, nil},
		{"both of two questions", index.Question{All: []index.Question{between("10", "20", false), between("20", "30", false)}}, []uint64{2}},
		{"either of two questions", index.Question{Any: []index.Question{between("10", "10", false), {Null: true}}}, []uint64{1, 2, 9}},
	}
	for _, c := range cases {
		rows, pages, err := k.Search(t.Context(), c.q)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := slices.Collect(rows.All()); !slices.Equal(got, c.want) {
			t.Errorf("%s: got rows %x, want %x", c.name, got, c.want)
		}
		if cost, err := k.Cost(c.q); err != nil || cost.Pages != pages {
			t.Errorf("%s: a cost of %d pages, %v, and %d were read", c.name, cost.Pages, err, pages)
		}
	}
}

// Keys are stored in pages, and a search reads only the pages of its keys.
func TestSearchReadsThePagesOfItsKeysAlone(t *testing.T) {
	const keys = 20_000
	rows := make([]row, keys)
	for i := range rows {
		rows[i] = row{fmt.Sprint(i), []uint64{uint64(i)}}
	}
	k := open(t, segment(t, rows))
	all, pages, err := k.Search(t.Context(), between("", "", false))
	if err != nil || all.Len() != keys || pages < 5 {
		t.Fatalf("%d rows in %d pages, %v; want %d in several", all.Len(), pages, err, keys)
	}
	last, pages, err := k.Search(t.Context(), between("19990", "", false))
	if want := []uint64{19990, 19991, 19992, 19993, 19994, 19995, 19996, 19997, 19998, 19999}; err != nil || pages != 1 || !slices.Equal(slices.Collect(last.All()), want) {
		t.Errorf("%d rows in %d pages, %v; want the last ten in one", last.Len(), pages, err)
	}
}

func TestSegmentsThatContradictThemselvesAreRefused(t *testing.T) {
	cases := []struct {
		name string
		f    indextest.Folder
		want error
	}{
		{"a key twice", segment(t, []row{{"1", []uint64{1}}, {"2", []uint64{2}}, {"1", []uint64{3}}}), lance.ErrCorrupt},
		{"NULL twice", segment(t, []row{{array.NullValueStr, []uint64{1}}, {array.NullValueStr, []uint64{2}}}), lance.ErrCorrupt},
		{"no bytes as rows", fileOf(t, array.NewRecordBatch(arrow.NewSchema([]arrow.Field{
			{Name: "keys", Type: arrow.PrimitiveTypes.Int64}, {Name: "bitmaps", Type: arrow.PrimitiveTypes.Int64},
		}, nil), []arrow.Array{numbers(1), numbers(2)}, 1)), lance.ErrCorrupt},
	}
	for _, c := range cases {
		if _, err := valuebitmaps.Open(t.Context(), c.f, valuebitmaps.Bitmaps, arrow.PrimitiveTypes.Int64); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	f := segment(t, []row{{"1", []uint64{1}}})
	if _, err := valuebitmaps.Open(t.Context(), f, valuebitmaps.Bitmaps, arrow.BinaryTypes.String); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("an index of another type: got %v, want ErrUnsupported", err)
	}
	q := between("1", "1", false)
	text := array.NewStringBuilder(arrowmemory.DefaultAllocator)
	text.Append("1")
	q.Ranges[0].To.Value = text.NewArray()
	if _, _, err := open(t, f).Search(t.Context(), q); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("a value of another type: got %v, want ErrUnsupported", err)
	}
	k := open(t, segment(t, []row{{"1", []uint64{1}}, {"2", nil}}))
	if _, _, err := k.Search(t.Context(), between("2", "2", false)); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("a key without rows: got %v, want ErrCorrupt", err)
	}
}

func numbers(values ...int64) arrow.Array {
	b := array.NewInt64Builder(arrowmemory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func TestRowsAreTakenFromTheShare(t *testing.T) {
	every := make([]uint64, 0, 100_000)
	for i := range uint64(cap(every)) {
		every = append(every, 3*i) // no runs
	}
	k := open(t, segment(t, []row{{"1", every}}))
	share := memory.NewBudget(64<<20, 64<<10).Open()
	defer share.Close()
	_, _, err := k.Search(memory.WithShare(t.Context(), share), between("1", "1", false))
	var refused *memory.Error
	if !errors.As(err, &refused) {
		t.Errorf("200 kB of rows in a share of 64 kB: got %v, want *memory.Error", err)
	}
}
