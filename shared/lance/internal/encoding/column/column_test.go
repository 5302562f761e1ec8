package column_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/column"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

var texts = &values.Shape{Kind: values.Variable}

// Whatever values a page has, and whichever of them are null, each index leads to the value again,
// and each item is there once.
func TestIndicesLeadToTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(strings.Fields("a b c d ab abc red green blue é")), 1, 50).Draw(t, "words")
		levels := rapid.SliceOfN(rapid.Uint16Range(0, 1), len(words), len(words)).Draw(t, "levels")
		page := values.New(texts)
		for _, w := range words {
			if err := page.AppendValue([]byte(w)); err != nil {
				t.Fatal(err)
			}
		}
		d := column.NewPageDictionary(texts, 32, 100, 1000)
		indices := values.New(values.FixedShape(32))
		if !d.AppendValues(indices, page, levels) {
			t.Fatal("a few items are too many")
		}
		for i, at := range values.ViewAs[uint32](indices.Fixed) {
			if levels[i] != 0 {
				continue // a null, whose index may be any
			}
			if got := string(d.Items.Bytes(int(at))); got != words[i] {
				t.Errorf("value %d: got %q, want %q", i, got, words[i])
			}
		}
		seen := map[string]bool{}
		for i := range d.Items.N {
			if item := string(d.Items.Bytes(i)); seen[item] {
				t.Errorf("item %q is there twice", item)
			} else {
				seen[item] = true
			}
		}
	})
}

func TestDictionaryHasItsLimits(t *testing.T) {
	fill := func(d *column.Dictionary, words ...string) (taken int) {
		for _, w := range words {
			if _, ok := d.IndexOf([]byte(w)); ok {
				taken++
			}
		}
		return taken
	}
	if got := fill(column.NewPageDictionary(texts, 32, 2, 1000), "a", "b", "c", "a"); got != 3 {
		t.Errorf("two items: got %d words taken, want 3", got)
	}
	if got := fill(column.NewPageDictionary(texts, 32, 100, 4), "aa", "bb", "c", "bb"); got != 3 {
		t.Errorf("four bytes: got %d words taken, want 3", got)
	}
	for index, want := range map[arrow.DataType]int{
		arrow.PrimitiveTypes.Int8: 128, arrow.PrimitiveTypes.Uint8: 256, arrow.PrimitiveTypes.Int16: 1 << 15, arrow.PrimitiveTypes.Uint64: 1<<31 - 1,
	} {
		typ := &arrow.DictionaryType{IndexType: index, ValueType: arrow.BinaryTypes.String}
		if got := column.NewDictionary(typ, texts).MaxItems; got != want {
			t.Errorf("indices of type %s: got %d items, want %d", index, got, want)
		}
	}
}

// Items of a dictionary that no slot uses do not get into the page, and equal ones become one.
func TestDictionaryKeepsItsUsedItemsAlone(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.String}
	items := fromJSON(t, arrow.BinaryTypes.String, `["unused", "b", "a", "b"]`)
	index := fromJSON(t, arrow.PrimitiveTypes.Uint16, `[3, null, 2, 1, 2]`)
	arr := array.NewDictionaryArray(typ, index, items)
	path := repdef.Path{Leaf: repdef.Leaf{Type: typ, Nullable: true}}
	s := repdef.NewShredder(&path)
	leaf, err := s.Shred(arr)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CutNulls(leaf, s.LeafNull, true, "c"); err != nil {
		t.Fatal(err)
	}
	d := column.NewDictionary(typ, texts)
	if d.MaxItems = 1; !d.Overflows(arr, s) {
		t.Error("two used items do not overflow a dictionary of one")
	}
	if d.MaxItems = 3; d.Overflows(arr, s) { // an item that the array has twice counts twice
		t.Error("three used items overflow a dictionary of three")
	}
	got := values.New(values.FixedShape(16))
	if err := d.AppendIndices(got, arr, s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint16{0, 0, 1, 0, 1}, values.ViewAs[uint16](got.Fixed)); diff != "" || d.Items.N != 2 {
		t.Errorf("%d items, indices (-want +got):\n%s", d.Items.N, diff)
	}
}

func TestBlocksOfItemsAreRead(t *testing.T) {
	random := strings.Repeat("the same again and again ", 20)
	words := column.NewPageDictionary(texts, 32, 100, 10_000)
	for i := range 9 {
		if _, ok := words.IndexOf([]byte(fmt.Sprint(random, i))); !ok {
			t.Fatal("too many")
		}
	}
	small := values.FixedShape(64)
	numbers := column.NewPageDictionary(small, 32, 5000, 1000)
	for i := range 3000 {
		if _, ok := numbers.IndexOf(values.BytesOf([]uint64{uint64(i * 5 % 4099)})); !ok {
			t.Fatal("too many")
		}
	}
	lz4, err := compress.NewCompressor(compress.Compression{Scheme: pb.LZ4})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		d    *column.Dictionary
		by   *compress.Compressor
		want pb.Codec
	}{
		{"texts", words, nil, &pb.Variable{}}, {"compressed texts", words, lz4, &pb.General{}},
		{"numbers", numbers, nil, &pb.Flat{}}, {"compressed numbers", numbers, lz4, &pb.OutOfLineBitpacking{}},
	} {
		encoded, block := c.d.Block(c.by)
		if got, want := fmt.Sprintf("%T", encoded), fmt.Sprintf("%T", c.want); got != want {
			t.Errorf("%s: got a block of %s, want %s", c.name, got, want)
		}
		again := values.New(c.d.Items.Shape)
		if err := codec.DecodeBlock(again, encoded, block, c.d.Items.N); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i := range c.d.Items.N {
			if got, want := string(again.Bytes(i)), string(c.d.Items.Bytes(i)); got != want {
				t.Fatalf("%s: item %d: got %q, want %q", c.name, i, got, want)
			}
		}
	}
	ab := column.NewPageDictionary(texts, 32, 10, 10)
	ab.IndexOf([]byte("ab"))
	ab.IndexOf([]byte("c"))
	want := "20000000" + "14000000" + "00000000" + "02000000" + "03000000" + "616263"
	if _, block := ab.Block(nil); fmt.Sprintf("%x", block) != want {
		t.Errorf("got the block %x, want %s: offsets of 32 bits, the start of the bytes, offsets, bytes", block, want)
	}
}

func TestFieldsSayHowTheyAreStored(t *testing.T) {
	text, number := repdef.Leaf{Type: arrow.BinaryTypes.String}, repdef.Leaf{Type: arrow.PrimitiveTypes.Int64}
	for _, c := range []struct {
		name     string
		leaf     repdef.Leaf
		metadata map[string]string
		version  lance.Version
		check    func(s *column.Storage) bool
	}{
		{"nothing", text, nil, lance.V2_2, func(s *column.Storage) bool {
			return s.Text && s.General == nil && s.DictionaryCompressor != nil && s.Options.ChunkBytes == codec.ChunkBytes && s.Options.DictRatio == 0.8
		}},
		{"2.1 has plain dictionaries", text, nil, lance.V2_1, func(s *column.Storage) bool { return s.DictionaryCompressor == nil }},
		{"zstd", text, map[string]string{"compression": "zstd", "compression-level": "7"}, lance.V2_2, func(s *column.Storage) bool {
			return len(s.General) == 1 && s.Options.Compression.Scheme == pb.Zstd && s.Options.Compression.Level == 7
		}},
		{"numbers choose among compressors", number, map[string]string{"compression": "lz4"}, lance.V2_2, func(s *column.Storage) bool { return len(s.General) > 0 && !s.Text }},
		{"symbols", text, map[string]string{"compression": "fsst"}, lance.V2_2, func(s *column.Storage) bool { return s.Options.Symbols && s.General == nil }},
		{"none", text, map[string]string{"compression": "none"}, lance.V2_2, func(s *column.Storage) bool { return s.Options.Compression.None }},
		{"layout and runs", number, map[string]string{"structural-encoding": "FullZip", "rle-threshold": "0.25", "bss": "ON"}, lance.V2_2, func(s *column.Storage) bool {
			return s.Options.Layout == "fullzip" && s.Options.RunsPerValue == 0.25 && s.Options.Split == "on"
		}},
		{"large chunks", text, map[string]string{"minichunk-size": "100000"}, lance.V2_2, func(s *column.Storage) bool { return s.Options.ChunkBytes == 100_000 }},
		{"2.1 has small chunks", text, map[string]string{"minichunk-size": "100000"}, lance.V2_1, func(s *column.Storage) bool { return s.Options.ChunkBytes == codec.ChunkBytes }},
		{"no number", number, map[string]string{"rle-threshold": "much", "dict-divisor": "-1"}, lance.V2_2, func(s *column.Storage) bool {
			return s.Options.RunsPerValue == 0 && s.Options.DictDivisor == 2
		}},
		{"unknown compression", text, map[string]string{"compression": "brotli"}, lance.V2_2, nil},
		{"unknown compression of dictionaries", text, map[string]string{"dict-values-compression": "brotli"}, lance.V2_2, nil},
		{"ratio above one", text, map[string]string{"dict-size-ratio": "1.5"}, lance.V2_2, nil},
	} {
		c.leaf.Metadata = map[string]string{"unrelated": "brotli"}
		for k, v := range c.metadata {
			c.leaf.Metadata["lance-encoding:"+k] = v
		}
		s, err := column.NewStorage(c.leaf, c.version)
		switch {
		case c.check == nil:
			if !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("%s: got error %v, want ErrUnsupported", c.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !c.check(s):
			t.Errorf("%s: got %+v with %d compressors", c.name, s.Options, len(s.General))
		}
	}
}

func fromJSON(t *testing.T, typ arrow.DataType, json string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return arr
}

func TestRowsOfStructsArePacked(t *testing.T) {
	number, small, text := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint8, arrow.BinaryTypes.String
	fixed := arrow.StructOf(arrow.Field{Name: "a", Type: number}, arrow.Field{Name: "b", Type: small})
	p, err := column.NewPacker(fixed, lance.V2_1)
	if err != nil {
		t.Fatal(err)
	}
	rows := values.New(p.Row)
	arr := fromJSON(t, fixed, `[{"a": 1, "b": 2}, {"a": 9, "b": 9}, {"a": 258, "b": 255}]`)
	if err := p.AppendRows(rows, arr, []values.Span{{From: 0, To: 3}}, []uint16{0, 1, 0}); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%x", rows.Fixed), "0100000002"+"0000000000"+"02010000ff"; got != want {
		t.Errorf("got %s, want %s: the null row in the middle is zeros", got, want)
	}
	if diff := cmp.Diff(pb.Codec(&pb.PackedStruct{Values: &pb.Flat{BitsPerValue: 40}, BitsPerValue: []uint64{32, 8}}), p.Codec()); diff != "" {
		t.Errorf("codec (-want +got):\n%s", diff)
	}

	variable := arrow.StructOf(arrow.Field{Name: "a", Type: number}, arrow.Field{Name: "t", Type: text})
	if p, err = column.NewPacker(variable, lance.V2_2); err != nil {
		t.Fatal(err)
	}
	if err := p.AppendRows(nil, fromJSON(t, variable, `[{"a": 1, "t": "ab"}, {"a": 2, "t": ""}]`), []values.Span{{From: 0, To: 2}}, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%x %x", p.AppendRow(nil, 0), p.AppendRow(nil, 1)), "01000000"+"02000000"+"6162"+" "+"02000000"+"00000000"; got != want {
		t.Errorf("got %s, want %s: texts after their length", got, want)
	}
	if p.Reset(); p.Members[0].Values.N != 0 || p.Members[1].Values.N != 0 {
		t.Error("rows wait after a reset")
	}
}

func TestPackerRefusesStructsThatItCannotPack(t *testing.T) {
	with := func(typ arrow.DataType) *arrow.StructType {
		return arrow.StructOf(arrow.Field{Name: "m", Type: typ, Nullable: true})
	}
	for _, c := range []struct {
		typ     *arrow.StructType
		version lance.Version
	}{
		{with(arrow.BinaryTypes.String), lance.V2_1}, {with(arrow.FixedWidthTypes.Boolean), lance.V2_2}, {with(arrow.Null), lance.V2_2},
		{with(&arrow.FixedSizeBinaryType{ByteWidth: 5000}), lance.V2_1},
		{with(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}), lance.V2_2},
	} {
		if _, err := column.NewPacker(c.typ, c.version); !errors.Is(err, lance.ErrUnsupported) {
			t.Errorf("%s in version %s: got error %v, want ErrUnsupported", c.typ, c.version, err)
		}
	}
	p, err := column.NewPacker(with(arrow.PrimitiveTypes.Int32), lance.V2_2)
	if err != nil {
		t.Fatal(err)
	}
	arr := fromJSON(t, with(arrow.PrimitiveTypes.Int32), `[{"m": 1}, {"m": null}]`)
	if err := p.AppendRows(values.New(p.Row), arr, []values.Span{{From: 0, To: 2}}, nil); !errors.Is(err, lance.ErrUnsupported) || !strings.Contains(err.Error(), `"m"`) {
		t.Errorf("a null member: got error %v, want ErrUnsupported that names it", err)
	}
}
