package arrowipc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"pgregory.net/rapid"
)

// This file tests streams that are unusual but valid.

func mustRead(t *testing.T, data []byte) []arrow.RecordBatch {
	t.Helper()
	_, batches, err := readAll(bytes.NewReader(data), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range batches {
		if err := array.ValidateRecordFull(batch); err != nil {
			t.Fatal(err)
		}
	}
	return batches
}

func TestAcceptsStringsThatDoNotBeginAtOffsetZero(t *testing.T) {
	batch := crafted{rows: 2, nodes: [][2]int64{{2, 0}}, buffers: [][2]int64{{0, 0}, {0, 12}, {16, 5}}, body: append(le32(2, 3, 5), "\xff\xffabc\x00\x00\x00"...)}
	column := mustRead(t, streamOf(strs, batch))[0].Column(0).(*array.String)
	if got := column.Value(0) + "," + column.Value(1); got != "a,bc" {
		t.Errorf("got %q, want %q", got, "a,bc")
	}
}

func TestAcceptsAnyBytesUnderNulls(t *testing.T) {
	batch := crafted{rows: 2, nodes: [][2]int64{{2, 1}}, buffers: [][2]int64{{0, 1}, {8, 12}, {24, 2}}, body: append(append([]byte{0b10, 0, 0, 0, 0, 0, 0, 0}, le32(0, 1, 2)...), "\xffa"...)}
	if got := mustRead(t, streamOf(strs, batch))[0].Column(0).(*array.String).Value(1); got != "a" {
		t.Errorf("got %q, want %q", got, "a")
	}

	// Views under nulls may lead nowhere.
	batch = crafted{rows: 2, nodes: [][2]int64{{2, 1}}, variadic: []int64{0}, buffers: [][2]int64{{0, 1}, {8, 32}}, body: append([]byte{0b01, 0, 0, 0, 0, 0, 0, 0}, le32(1, 'x', 0, 0, 99, 1, 2, 3)...)}
	column := mustRead(t, streamOf(viewed, batch))[0].Column(0).(*array.String)
	if got := column.Value(0) + "," + column.Value(1); got != "x," {
		t.Errorf("got %q, want %q", got, "x,")
	}
}

func TestAcceptsChildrenLongerThanTheirParents(t *testing.T) {
	inner := arrow.StructOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int32})
	batch := crafted{rows: 1, nodes: [][2]int64{{1, 0}, {3, 0}}, buffers: [][2]int64{{0, 0}, {0, 0}, {0, 12}}, body: le32(1, 2, 3)}
	column := mustRead(t, streamOf(field("s", inner), batch))[0].Column(0).(*array.Struct)
	if got := column.Field(0).Len(); got != 1 {
		t.Errorf("got a child of %d values, want 1", got)
	}
	column2 := mustRead(t, streamOf(vectors, batch))[0].Column(0).(*array.FixedSizeList)
	if got := column2.ListValues().Len(); got != 2 {
		t.Errorf("got a child of %d values, want 2", got)
	}
}

func TestAcceptsEmptyArraysWithoutOffsets(t *testing.T) {
	batch := crafted{nodes: [][2]int64{{0, 0}}, buffers: [][2]int64{{0, 0}, {0, 0}, {0, 0}}}
	if got := mustRead(t, streamOf(strs, batch))[0].Column(0).(*array.String).ValueOffsets(); len(got) != 1 {
		t.Errorf("got offsets %v, want one", got)
	}
}

func TestAcceptsBytesAfterTheEnd(t *testing.T) {
	data := slices.Concat(fixtures(t)["nested"], []byte("trailer"))
	if got := len(mustRead(t, data)); got != 1 {
		t.Errorf("got %d batches, want 1", got)
	}
}

func TestDeltaExtendsTheDictionaryOfLaterBatchesOnly(t *testing.T) {
	r, err := NewReader(context.Background(), bytes.NewReader(fixtures(t)["dictionary_delta"]), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var lengths []int
	for range 2 {
		batch, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		lengths = append(lengths, batch.Column(0).(*array.Dictionary).Dictionary().Len())
	}
	if r.deltaBytes == 0 || lengths[0] != 2 || lengths[1] != 3 {
		t.Errorf("got dictionaries of %v values, %d bytes copied; want [2 3], more than 0", lengths, r.deltaBytes)
	}
}

func TestKeepsExtensionTypesAsMetadata(t *testing.T) {
	r, err := NewReader(context.Background(), bytes.NewReader(fixtures(t)["extension"]), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Schema().Field(0)
	name, _ := f.Metadata.GetValue("ARROW:extension:name")
	if f.Type.ID() != arrow.FIXED_SIZE_BINARY || name != "house.own" {
		t.Errorf("got %v, want fixed_size_binary marked as house.own", f)
	}
}

func TestLimitsHoldAtTheByte(t *testing.T) {
	batch := crafted{rows: 4, nodes: [][2]int64{{4, 0}}, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le32(1, 2, 3, 4)}
	data := streamOf(numbers, batch)
	metadata := int64(binary.LittleEndian.Uint32(data[4:]))
	cases := []struct {
		limits Limits
		ok     bool
	}{
		{Limits{MaxMessageBytes: 16}, true},
		{Limits{MaxMessageBytes: 15}, false},
		{Limits{MaxDecodedBytes: 16}, true},
		{Limits{MaxDecodedBytes: 15}, false},
		{Limits{MaxMetadataBytes: max(metadata, 256)}, true},
		{Limits{MaxMetadataBytes: metadata - 1}, false},
		{Limits{MaxMessageBytes: -1}, true}, // the default
	}
	for _, c := range cases {
		_, _, err := readAll(bytes.NewReader(data), c.limits)
		if c.ok && err != nil || !c.ok && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%+v: got %v, want accepted: %v", c.limits, err, c.ok)
		}
	}
}

func TestErrorSaysWhere(t *testing.T) {
	long := strings.Repeat("x", 1000)
	cases := map[string]*Error{
		`invalid arrow stream: message 2, column "a.b": bad`: {Kind: ErrInvalid, Message: 2, Column: "a.b", Reason: "bad"},
		`unsupported in an arrow stream: message 0: odd`:     {Kind: ErrUnsupported, Reason: "odd"},
		`arrow stream exceeds a limit: message 1, column "` + long[:200] + `…": big`: {
			Kind: ErrTooLarge, Message: 1, Column: long, Reason: "big"},
	}
	for want, e := range cases {
		if got := e.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Whole columns of text are checked at once; each string by itself must agree.
func TestUTF8CheckAgreesWithEachString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"", "a", "ascii text", "ü", "€", "😀", "\xc3", "\xbc", "\xff", "\xe2\x82"})
		pieces := rapid.SliceOfN(piece, 1, 20).Draw(t, "strings")
		offsets, data, want := []int32{0}, []byte(nil), -1
		for i, s := range pieces {
			data = append(data, s...)
			offsets = append(offsets, int32(len(data)))
			if want < 0 && !utf8.ValidString(s) {
				want = i
			}
		}
		if got := wholeUTF8(data, offsets); got != (want < 0) {
			t.Errorf("got %v for the whole, want the first invalid string to be %d", got, want)
		}
		if got := findInvalid(data, offsets, 0); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	})
}

func TestIndexCheckFindsTheFirstOutside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Int8Range(-2, 10)).Draw(t, "values")
		n := rapid.Uint64Range(0, 9).Draw(t, "n")
		want := -1
		for i, v := range values {
			if v < 0 || uint64(v) >= n {
				want = i
				break
			}
		}
		if got := findOutside(values, 0, n); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	})
}

func Example() {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var body bytes.Buffer
	if err := NewStreamWriter(&body, schema, Uncompressed).Close(); err != nil {
		fmt.Println(err)
	}

	r, err := NewReader(context.Background(), &body, Limits{MaxMessageBytes: 1 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Next()
	fmt.Println(r.Schema().Field(0).Name, err)
	// Output: n EOF
}
