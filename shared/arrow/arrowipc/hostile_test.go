package arrowipc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/klauspost/compress/zstd"
)

func field(name string, dtype arrow.DataType) []arrow.Field {
	return []arrow.Field{{Name: name, Type: dtype, Nullable: true}}
}

var (
	numbers = field("n", arrow.PrimitiveTypes.Int32)
	strs    = field("s", arrow.BinaryTypes.String)
	viewed  = field("v", arrow.BinaryTypes.StringView)
	lists   = field("l", arrow.ListOf(arrow.PrimitiveTypes.Int32))
	vectors = field("f", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32))
	coded   = field("d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int32})
)

func TestRefusesHostileBatches(t *testing.T) {
	values := crafted{rows: 1, nodes: [][2]int64{{1, 0}}, buffers: [][2]int64{{0, 0}, {0, 4}}, body: le32(7)}
	cases := []struct {
		name   string
		fields []arrow.Field
		batch  crafted
		kind   error
		reason string
	}{
		{"no array", numbers, crafted{rows: 1}, ErrInvalid, "no array"},
		{"no buffer", numbers, crafted{rows: 1, nodes: [][2]int64{{1, 0}}}, ErrInvalid, "no buffer"},
		{"array left over", nil, values, ErrInvalid, "1 arrays and 2 buffers more"},
		{"negative rows", numbers, crafted{rows: -1}, ErrInvalid, "-1 rows"},
		{"negative length", numbers, crafted{rows: -5, nodes: [][2]int64{{-5, 0}}}, ErrInvalid, "rows"},
		{"length of column", numbers, crafted{rows: 2, nodes: values.nodes, buffers: values.buffers, body: values.body}, ErrInvalid, "1 values in a batch of 2 rows"},
		{"more nulls than values", numbers, crafted{rows: 1, nodes: [][2]int64{{1, 2}}}, ErrInvalid, "with 2 nulls"},
		{"nulls without bitmap", numbers, crafted{rows: 1, nodes: [][2]int64{{1, 1}}, buffers: values.buffers, body: values.body}, ErrInvalid, "without a validity bitmap"},
		{"short bitmap", numbers, crafted{rows: 100, nodes: [][2]int64{{100, 0}}, buffers: [][2]int64{{0, 8}, {8, 400}}, body: make([]byte, 408)}, ErrInvalid, "validity bitmap of 8 bytes for 100"},
		{"short values", numbers, crafted{rows: 3, nodes: [][2]int64{{3, 0}}, buffers: [][2]int64{{0, 0}, {0, 8}}, body: make([]byte, 8)}, ErrInvalid, "8 bytes where 12 are needed"},
		{"buffer behind the body", numbers, crafted{rows: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {8, 4}}, body: le32(7)}, ErrInvalid, "at 8 in a body of 8"},
		{"buffer before the body", numbers, crafted{rows: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {-4, 4}}, body: le32(7)}, ErrInvalid, "at -4"},
		{"buffer length overflows", numbers, crafted{rows: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {8, math.MaxInt64}}, body: le32(7)}, ErrInvalid, "in a body of 8"},
		{"overlap", numbers, crafted{rows: 1, nodes: values.nodes, buffers: [][2]int64{{0, 8}, {0, 8}}, body: le32(1)}, ErrInvalid, "overlap"},
		{"length overflows", numbers, crafted{rows: maxLength, nodes: [][2]int64{{maxLength, 0}}, buffers: values.buffers, body: le32(1)}, ErrTooLarge, "values of 4 each"},
		{"too many rows", numbers, crafted{rows: math.MaxInt64, nodes: [][2]int64{{math.MaxInt64, 0}}}, ErrInvalid, "rows"},

		{"negative offset", strs, crafted{rows: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 8}, {8, 8}}, body: append(le32(-1, 1), "abcdefgh"...)}, ErrInvalid, "offset 0"},
		{"descending offsets", strs, crafted{rows: 2, nodes: [][2]int64{{2, 0}}, buffers: [][2]int64{{0, 0}, {0, 12}, {16, 8}}, body: append(le32(0, 5, 3), "abcdefgh"...)}, ErrInvalid, "offset 2"},
		{"offset behind data", strs, crafted{rows: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 8}, {8, 8}}, body: append(le32(0, 9), "abcdefgh"...)}, ErrInvalid, "8 bytes where 9 are needed"},
		{"invalid UTF-8", strs, crafted{rows: 2, nodes: [][2]int64{{2, 0}}, buffers: [][2]int64{{0, 0}, {0, 12}, {16, 2}}, body: append(le32(0, 1, 2), "a\xff"...)}, ErrInvalid, "string in row 1"},
		{"cut character", strs, crafted{rows: 2, nodes: [][2]int64{{2, 0}}, buffers: [][2]int64{{0, 0}, {0, 12}, {16, 2}}, body: append(le32(0, 1, 2), "ü"...)}, ErrInvalid, "string in row 0"},

		{"list behind its child", lists, crafted{rows: 1, nodes: [][2]int64{{1, 0}, {1, 0}}, buffers: [][2]int64{{0, 0}, {0, 8}, {0, 0}, {8, 8}}, body: le32(0, 2, 1, 2)}, ErrInvalid, "length 1 where 2 are needed"},
		{"vector longer than child", vectors, crafted{rows: 2, nodes: [][2]int64{{2, 0}, {3, 0}}, buffers: [][2]int64{{0, 0}, {0, 0}, {0, 12}}, body: le32(1, 2, 3)}, ErrInvalid, "length 3 where 4 are needed"},

		{"view of no buffer", viewed, crafted{rows: 1, nodes: values.nodes, variadic: []int64{0}, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le32(13, 0, 0, 0)}, ErrInvalid, "does not exist"},
		{"view behind its buffer", viewed, crafted{rows: 1, nodes: values.nodes, variadic: []int64{1}, buffers: [][2]int64{{0, 0}, {0, 16}, {16, 16}}, body: append(le32(13, 0, 0, 4), make([]byte, 16)...)}, ErrInvalid, "outside its data buffer"},
		{"view of negative length", viewed, crafted{rows: 1, nodes: values.nodes, variadic: []int64{0}, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le32(-1, 0, 0, 0)}, ErrInvalid, "negative length"},
		{"view of other bytes", viewed, crafted{rows: 1, nodes: values.nodes, variadic: []int64{1}, buffers: [][2]int64{{0, 0}, {0, 16}, {16, 16}}, body: append(le32(13, 1, 0, 0), make([]byte, 16)...)}, ErrInvalid, "does not begin"},
		{"view of invalid UTF-8", viewed, crafted{rows: 1, nodes: values.nodes, variadic: []int64{0}, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le32(1, 255, 0, 0)}, ErrInvalid, "not valid UTF-8"},
		{"data buffers not counted", viewed, crafted{rows: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le32(0, 0, 0, 0)}, ErrInvalid, "does not count"},
		{"data buffers overcounted", viewed, crafted{rows: 1, nodes: values.nodes, variadic: []int64{math.MaxInt64}, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le32(0, 0, 0, 0)}, ErrInvalid, "data buffers where"},

		{"no dictionary", coded, crafted{rows: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 1}}, body: make([]byte, 8)}, ErrInvalid, "has not been sent"},
		{"unknown dictionary", coded, crafted{dictionary: true, id: 99, rows: 1, nodes: values.nodes, buffers: values.buffers, body: values.body}, ErrInvalid, "dictionary 99"},

		{"rows without bytes", field("null", arrow.Null), crafted{rows: 1 << 40, nodes: [][2]int64{{1 << 40, 0}}}, ErrTooLarge, "take no bytes"},
		{"rows without columns", nil, crafted{rows: 1 << 40}, ErrTooLarge, "take no bytes"},
		{"vectors of nothing", field("f", arrow.FixedSizeListOf(math.MaxInt32, arrow.Null)), crafted{rows: 1, nodes: [][2]int64{{1, 0}, {math.MaxInt32, 0}}, buffers: [][2]int64{{0, 0}}}, ErrTooLarge, "take no bytes"},

		{"unknown codec", numbers, crafted{rows: 1, codec: 3}, ErrUnsupported, "codec 2"},
		{"wrapped codec", numbers, crafted{rows: 1, codec: 256}, ErrUnsupported, "codec 255"},
		{"no room for the size", numbers, crafted{rows: 1, codec: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 7}}, body: make([]byte, 8)}, ErrInvalid, "compressed buffer of 7"},
		{"LZ4 claims", numbers, crafted{rows: 1, codec: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le64(1<<29, 0)}, ErrInvalid, "claim to hold 536870912"},
		{"ZSTD claims", numbers, crafted{rows: 1, codec: 2, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le64(1<<29, 0)}, ErrInvalid, "claim to hold"},
		{"negative size", numbers, crafted{rows: 1, codec: 2, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le64(-2, 0)}, ErrInvalid, "claim to hold -2"},
		{"not LZ4", numbers, crafted{rows: 1, codec: 1, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le64(4, 0)}, ErrInvalid, "lz4: not a frame"},
		{"not ZSTD", numbers, crafted{rows: 1, codec: 2, nodes: values.nodes, buffers: [][2]int64{{0, 0}, {0, 16}}, body: le64(4, 0)}, ErrInvalid, "zstd"},

		{"negative body", numbers, crafted{bodyLength: -1}, ErrInvalid, "body length -1"},
		{"huge body", numbers, crafted{bodyLength: 1 << 40}, ErrTooLarge, "body of 1099511627776 bytes"},
		{"missing body", numbers, crafted{rows: 1, bodyLength: 1 << 28}, ErrInvalid, "truncated"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readAll(bytes.NewReader(streamOf(c.fields, c.batch)), Limits{})
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, c.kind) || !strings.Contains(e.Reason, c.reason) || e.Message != 1 {
				t.Errorf("got %v, want %v: message 1: … %s", err, c.kind, c.reason)
			}
		})
	}
}

func TestRefusesHostileDictionaries(t *testing.T) {
	dictionary := crafted{dictionary: true, rows: 2, nodes: [][2]int64{{2, 0}}, buffers: [][2]int64{{0, 0}, {0, 8}}, body: le32(10, 20)}
	for name, index := range map[string]byte{"behind": 2, "negative": 0xFF} {
		batch := crafted{rows: 1, nodes: [][2]int64{{1, 0}}, buffers: [][2]int64{{0, 0}, {0, 1}}, body: []byte{index, 0, 0, 0, 0, 0, 0, 0}}
		_, _, err := readAll(bytes.NewReader(streamOf(coded, dictionary, batch)), Limits{})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "outside its dictionary of 2 values") {
			t.Errorf("index %s: got %v, want it outside the dictionary", name, err)
		}
	}

	// The index of a null is arbitrary, and is never used.
	batch := crafted{rows: 2, nodes: [][2]int64{{2, 1}}, buffers: [][2]int64{{0, 1}, {8, 2}}, body: []byte{0b01, 0, 0, 0, 0, 0, 0, 0, 1, 77, 0, 0, 0, 0, 0, 0}}
	_, batches, err := readAll(bytes.NewReader(streamOf(coded, dictionary, batch)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	column := batches[0].Column(0).(*array.Dictionary)
	if got := []int{column.GetValueIndex(0), column.GetValueIndex(1)}; got[0] != 1 || got[1] != 0 {
		t.Errorf("got indices %v, want [1 0]", got)
	}

	// The copies made for deltas are bounded for the whole stream.
	deltas := []crafted{dictionary}
	dictionary.delta = true
	for range 20 {
		deltas = append(deltas, dictionary)
	}
	_, _, err = readAll(bytes.NewReader(streamOf(coded, deltas...)), Limits{MaxDecodedBytes: 1000})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want the deltas to be too large", err)
	}
}

func TestReadsAllNullColumnWithoutDictionary(t *testing.T) {
	batch := crafted{rows: 2, nodes: [][2]int64{{2, 2}}, buffers: [][2]int64{{0, 1}, {8, 2}}, body: make([]byte, 16)}
	_, batches, err := readAll(bytes.NewReader(streamOf(coded, batch)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := batches[0].Column(0).NullN(); got != 2 {
		t.Errorf("got %d nulls, want 2", got)
	}
}

func TestCountsNullsItself(t *testing.T) {
	batch := crafted{rows: 3, nodes: [][2]int64{{3, 0}}, buffers: [][2]int64{{0, 1}, {8, 12}}, body: append([]byte{0b101, 0, 0, 0, 0, 0, 0, 0}, le32(1, 2, 3)...)}
	_, batches, err := readAll(bytes.NewReader(streamOf(numbers, batch)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := batches[0].Column(0).NullN(); got != 1 {
		t.Errorf("got %d nulls, want 1", got)
	}
}

func TestReadsUnalignedBuffers(t *testing.T) {
	body := append([]byte{0, 0, 0}, le32(1, 2, 3)...)
	batch := crafted{rows: 3, nodes: [][2]int64{{3, 0}}, buffers: [][2]int64{{0, 0}, {3, 12}}, body: body}
	_, batches, err := readAll(bytes.NewReader(streamOf(numbers, batch)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := batches[0].Column(0).(*array.Int32).Values(); got[0] != 1 || got[2] != 3 {
		t.Errorf("got %v, want [1 2 3]", got)
	}
}

func TestBoundsDecompression(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := encoder.EncodeAll(make([]byte, 8<<20), nil)
	body := append(le64(8<<20), bomb...)
	batch := crafted{rows: 1, codec: 2, nodes: [][2]int64{{1, 0}}, buffers: [][2]int64{{0, 0}, {0, int64(len(body))}}, body: body}
	stream := streamOf(numbers, batch)
	if _, _, err := readAll(bytes.NewReader(stream), Limits{}); err != nil {
		t.Errorf("within the budget: %v", err)
	}
	if _, _, err := readAll(bytes.NewReader(stream), Limits{MaxDecodedBytes: 4 << 20}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	binary.LittleEndian.PutUint64(stream[len(stream)-len(body):], 100)
	if _, _, err := readAll(bytes.NewReader(stream), Limits{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("content longer than announced: got %v, want ErrInvalid", err)
	}
}

func TestRefusesWhatIsNoStream(t *testing.T) {
	schema := schemaBytes(arrow.NewSchema(numbers, nil))
	cases := []struct {
		name, input, reason string
		kind                error
	}{
		{"nothing", "", "empty; an Arrow IPC stream was expected", ErrInvalid},
		{"file", "ARROW1\x00\x00", "Arrow IPC file; an Arrow IPC stream was expected", ErrInvalid},
		{"JSON", `{"a":1}`, "an Arrow IPC stream was expected", ErrInvalid},
		{"Parquet", "PAR1\x15\x04\x15", "an Arrow IPC stream was expected", ErrInvalid},
		{"end at once", "\xff\xff\xff\xff\x00\x00\x00\x00", "empty", ErrInvalid},
		{"marker only", "\xff\xff\xff\xff", "truncated", ErrInvalid},
		{"half a marker", "\xff\xff", "truncated", ErrInvalid},
		{"negative length", "\xff\xff\xff\xff\xfe\xff\xff\xff", "do not begin a message", ErrInvalid},
		{"absurd length", "\xff\xff\xff\xff\xff\xff\xff\x7f", "metadata of 2147483647 bytes", ErrTooLarge},
		{"half a schema", string(schema[:40]), "truncated", ErrInvalid},
		{"batch first", string(crafted{}.message()), "not with a schema", ErrInvalid},
		{"second schema", string(schema) + string(schema), "second schema", ErrInvalid},
	}
	for _, c := range cases {
		_, _, err := readAll(strings.NewReader(c.input), Limits{})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %v, want %v: … %s", c.name, err, c.kind, c.reason)
		}
	}
}

func TestReaderRefusesTruncationsWithinMessages(t *testing.T) {
	data := fixtures(t)["nested"]
	_, all, err := readAll(bytes.NewReader(data), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for n := range data {
		_, batches, err := readAll(iotest.OneByteReader(bytes.NewReader(data[:n])), Limits{})
		switch {
		case err == nil:
			whole++
			if len(batches) > len(all) {
				t.Errorf("%d bytes: %d batches", n, len(batches))
			}
		case !errors.Is(err, ErrInvalid):
			t.Errorf("%d bytes: got %v, want ErrInvalid", n, err)
		}
	}
	if whole != 2 { // behind the schema and behind the batch
		t.Errorf("%d truncations were accepted, want 2", whole)
	}
}

func TestPassesOnErrorsOfTheInput(t *testing.T) {
	broken := errors.New("connection reset")
	data := fixtures(t)["nested"]
	input := io.MultiReader(bytes.NewReader(data[:len(data)-100]), iotest.ErrReader(broken))
	_, _, err := readAll(input, Limits{})
	var e *Error
	if !errors.Is(err, broken) || errors.As(err, &e) {
		t.Errorf("got %v, want it to wrap %v and be no *Error", err, broken)
	}
}

func TestKeepsReturningTheError(t *testing.T) {
	reader, err := NewReader(context.Background(), bytes.NewReader(streamOf(numbers, crafted{rows: -1})), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, first := reader.Next()
	_, second := reader.Next()
	if first == nil || !errors.Is(second, first) {
		t.Errorf("got %v, then %v; want one error twice", first, second)
	}
}

func TestHoldsSchemasToTheLimits(t *testing.T) {
	var deep arrow.DataType = arrow.PrimitiveTypes.Int8
	for range 4 {
		deep = arrow.ListOf(deep)
	}
	three := append(append(field("a", arrow.Null), field("b", arrow.Null)...), field("c", arrow.Null)...)
	cases := []struct {
		name   string
		fields []arrow.Field
		limits Limits
		ok     bool
	}{
		{"depth at the limit", field("x", deep), Limits{MaxDepth: 5}, true},
		{"depth above", field("x", deep), Limits{MaxDepth: 4}, false},
		{"columns at the limit", three, Limits{MaxColumns: 3}, true},
		{"columns above", three, Limits{MaxColumns: 2}, false},
		{"fields above", field("x", deep), Limits{MaxColumns: 1}, false},
		{"metadata above", three, Limits{MaxMetadataBytes: 64}, false},
	}
	for _, c := range cases {
		_, err := NewReader(context.Background(), bytes.NewReader(streamOf(c.fields)), c.limits)
		if c.ok && err != nil || !c.ok && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: got %v, want accepted: %v", c.name, err, c.ok)
		}
	}
}

// A flatbuffer can share its tables, so that few bytes are a tree of any size.
func TestRefusesSchemasThatShareTheirTables(t *testing.T) {
	b := flatbuffers.NewBuilder(1024)
	build := func(kind byte, children flatbuffers.UOffsetT) flatbuffers.UOffsetT {
		b.StartObject(0)
		params := b.EndObject()
		b.StartObject(7)
		b.PrependByteSlot(2, kind, 0)
		b.PrependUOffsetTSlot(3, params, 0)
		b.PrependUOffsetTSlot(5, children, 0)
		return b.EndObject()
	}
	repeat := func(child flatbuffers.UOffsetT, times int) flatbuffers.UOffsetT {
		b.StartVector(4, times, 4)
		for range times {
			b.PrependUOffsetT(child)
		}
		return b.EndVector(times)
	}
	field := build(typeNull, 0)
	for range 20 {
		field = build(typeStruct, repeat(field, 10))
	}
	fields := repeat(field, 10)
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, fields, 0)
	schema := b.EndObject()
	b.StartObject(5)
	b.PrependInt16Slot(0, metadataV5, 0)
	b.PrependByteSlot(1, headerSchema, 0)
	b.PrependUOffsetTSlot(2, schema, 0)
	b.Finish(b.EndObject())

	_, err := NewReader(context.Background(), bytes.NewReader(frame(b.FinishedBytes())), Limits{})
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "more than its") {
		t.Errorf("got %v, want the metadata refused for describing more than it holds", err)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestClaimsCostLittleUntilBytesCome(t *testing.T) {
	inputs := map[string][]byte{
		"metadata": {0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1}, // 16 MiB
		"body":     streamOf(numbers, crafted{rows: 1, bodyLength: 256 << 20}),
	}
	for name, data := range inputs {
		var err error
		used := allocated(func() {
			_, _, err = readAll(struct{ io.Reader }{bytes.NewReader(data)}, Limits{})
		})
		if !errors.Is(err, ErrInvalid) || used > firstRead+64<<10 {
			t.Errorf("%s: got %v and %d bytes allocated for %d, want it truncated and little more than %d", name, err, used, len(data), firstRead)
		}
	}
}

func TestLongNamesCostWhatTheyAre(t *testing.T) {
	children := make([]arrow.Field, 2000)
	for i := range children {
		children[i] = arrow.Field{Name: "c", Type: arrow.PrimitiveTypes.Int8}
	}
	data := streamOf(field(strings.Repeat("long", 50_000), arrow.StructOf(children...)))
	used := allocated(func() {
		if _, err := NewReader(context.Background(), bytes.NewReader(data), Limits{}); err != nil {
			t.Error(err)
		}
	})
	if used > 20*uint64(len(data)) {
		t.Errorf("%d bytes allocated for a schema of %d", used, len(data))
	}
}
