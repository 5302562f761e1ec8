package pb

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func flatBits(n uint64) *Flat { return &Flat{BitsPerValue: n} }

// layouts use every codec and every field.
var layouts = []Layout{
	&MiniBlockLayout{
		RepCompression:   &OutOfLineBitpacking{UncompressedBits: 16, Values: flatBits(1)},
		DefCompression:   &RLE{Values: flatBits(16), RunLengths: flatBits(8)},
		ValueCompression: &InlineBitpacking{UncompressedBits: 32},
		Dictionary:       &General{Compression: BufferCompression{LZ4}, Values: &Variable{Offsets: flatBits(32)}},
		Layers:           []RepDefLayer{NullableItem, NullAndEmptyList}, NumDictionaryItems: 3, NumBuffers: 1,
		RepetitionIndexDepth: 1, NumItems: 300, HasLargeChunk: true,
	},
	&MiniBlockLayout{ValueCompression: &FSST{SymbolTable: []byte("table"), Values: &Variable{Offsets: flatBits(64), Values: &BufferCompression{Zstd}}}},
	&MiniBlockLayout{ValueCompression: &PackedStruct{BitsPerValue: []uint64{8, 16}, Values: flatBits(24)}},
	&MiniBlockLayout{ValueCompression: &Dictionary{Indices: flatBits(8), Items: &Constant{}, NumItems: 4}},
	&MiniBlockLayout{ValueCompression: &ByteStreamSplit{Values: flatBits(64)}},
	&ConstantLayout{Layers: []RepDefLayer{NullableItem}},
	&ConstantLayout{InlineValue: []byte{}, RepCompression: flatBits(16), DefCompression: flatBits(16), NumRepValues: 5, NumDefValues: 6},
	&FullZipLayout{
		BitsRep: 1, BitsDef: 2, BitsPerValue: 4096, NumItems: 10, NumVisibleItems: 9,
		ValueCompression: &FixedSizeList{ItemsPerValue: 128, HasValidity: true, Values: flatBits(32)},
	},
	&FullZipLayout{BitsPerOffset: 32, ValueCompression: &VariablePackedStruct{Fields: []PackedField{
		{Value: flatBits(8), BitsPerValue: 8},
		{Value: &Variable{Offsets: flatBits(32)}, BitsPerLength: 32},
	}}},
	&BlobLayout{Inner: &ConstantLayout{InlineValue: []byte{1}}, Layers: []RepDefLayer{AllValidItem}},
}

func TestLayoutsSurviveTheWire(t *testing.T) {
	for _, want := range layouts {
		got, err := UnmarshalLayout(MarshalLayout(want))
		if err != nil {
			t.Errorf("%T: %v", want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("layout (-want +got):\n%s", diff)
		}
	}
}

func TestFileMetadataSurvivesTheWire(t *testing.T) {
	column := ColumnMetadata{
		Encoding: Any{TypeURL: TypeColumnEncoding, Value: []byte{1}},
		Pages: []Page{
			{Length: 7, Encoding: Any{TypeURL: TypePageLayout, Value: []byte{2, 3}}},
			{BufferOffsets: []uint64{0, 64}, BufferSizes: []uint64{4, 1 << 40}, Length: 1 << 33, Priority: 7},
		},
	}
	var e Encoder
	column.Marshal(&e)
	var gotColumn ColumnMetadata
	if err := gotColumn.Unmarshal(e.B); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(column, gotColumn); diff != "" {
		t.Errorf("column (-want +got):\n%s", diff)
	}

	file := FileDescriptor{Fields: []*Field{{Name: "a", ParentID: -1}}, Metadata: map[string]string{"k": "v"}, Length: 5}
	e = Encoder{}
	file.Marshal(&e)
	var gotFile FileDescriptor
	if err := gotFile.Unmarshal(e.B); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file, gotFile); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

func TestCodecsNestOnlySoDeep(t *testing.T) {
	var codec Codec = flatBits(8)
	for depth := 1; depth <= maxCodecDepth+1; depth++ {
		_, err := UnmarshalLayout(MarshalLayout(&MiniBlockLayout{ValueCompression: codec}))
		if got, want := err == nil, depth <= maxCodecDepth; got != want {
			t.Errorf("%d codecs: got error %v, want one only past %d", depth, err, maxCodecDepth)
		}
		codec = &General{Values: codec}
	}
	nested := &BlobLayout{Inner: &BlobLayout{Inner: &ConstantLayout{}}}
	if _, err := UnmarshalLayout(MarshalLayout(nested)); !errors.Is(err, ErrWire) {
		t.Errorf("blob in a blob: got error %v, want ErrWire", err)
	}
}

func TestOneofCountsItsLastMember(t *testing.T) {
	both := append(MarshalLayout(&FullZipLayout{NumItems: 1}), MarshalLayout(&ConstantLayout{NumDefValues: 2})...)
	got, err := UnmarshalLayout(both)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Layout(&ConstantLayout{NumDefValues: 2}), got); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}
}

func TestUnknownCodecsAreNamed(t *testing.T) {
	var e Encoder
	e.Message(1, func(e *Encoder) {
		e.Message(3, func(e *Encoder) { e.Message(14, func(*Encoder) {}) })
	})
	got, err := UnmarshalLayout(e.B)
	if err != nil {
		t.Fatal(err)
	}
	codec, ok := got.(*MiniBlockLayout).ValueCompression.(*UnknownCodec)
	if !ok || codec.Num != 14 {
		t.Errorf("got %v, want an UnknownCodec of number 14", got)
	}
}

func FuzzUnmarshalLayout(f *testing.F) {
	for _, l := range layouts {
		f.Add(MarshalLayout(l))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := UnmarshalLayout(b)
		if err != nil || l == nil {
			return
		}
		again, err := UnmarshalLayout(MarshalLayout(l))
		if err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		if diff := cmp.Diff(l, again, cmp.AllowUnexported(UnknownCodec{})); diff != "" {
			t.Errorf("layout (-decoded +encoded and decoded):\n%s", diff)
		}
	})
}
