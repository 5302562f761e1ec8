package write

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

var shapeOfText = &values.Shape{Kind: values.Variable}

// sentences are texts of a few words.
func sentences(n int) *values.Values {
	words := []string{"the ", "table ", "has ", "a version ", "and ", "rows ", "of ", "fragments "}
	v := values.New(shapeOfText)
	state := uint32(1)
	for range n {
		var text []byte
		for range 3 + state>>8%7 {
			state = state*1664525 + 1013904223
			text = append(text, words[state>>20%8]...)
		}
		if err := v.AppendValue(text); err != nil {
			panic(err)
		}
	}
	return v
}

// codecText formats a codec with its inner codecs.
func codecText(c pb.Codec) string {
	switch c := c.(type) {
	case *pb.General:
		return fmt.Sprintf("%s(%s)", map[pb.CompressionScheme]string{pb.LZ4: "lz4", pb.Zstd: "zstd"}[c.Compression.Scheme], codecText(c.Values))
	case *pb.FSST:
		return "FSST(" + codecText(c.Values) + ")"
	case *pb.ByteStreamSplit:
		return "Split(" + codecText(c.Values) + ")"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", c), "*pb.")
}

// layoutText formats the layout and codecs of a page.
func layoutText(t *testing.T, p encoding.Page) string {
	t.Helper()
	l, err := pb.UnmarshalLayout(p.Encoding.Value)
	if err != nil {
		t.Fatal(err)
	}
	switch l := l.(type) {
	case *pb.MiniBlockLayout:
		text := "chunks of " + codecText(l.ValueCompression)
		if l.Dictionary != nil {
			text += " into " + codecText(l.Dictionary)
		}
		return text
	case *pb.FullZipLayout:
		return "zipped " + codecText(l.ValueCompression)
	case *pb.ConstantLayout:
		return "constant"
	}
	return fmt.Sprintf("%T", l)
}

// numbers returns n values of 64 bits.
func numbers(n int, value func(i int) uint64) *values.Values {
	v := values.New(values.FixedShape(64))
	for i := range n {
		v.AppendFixed(values.BytesOf([]uint64{value(i)}), 1)
	}
	return v
}

func texts(n int, text func(i int) string) *values.Values {
	v := values.New(shapeOfText)
	for i := range n {
		if err := v.AppendValue([]byte(text(i))); err != nil {
			panic(err)
		}
	}
	return v
}

func TestColumnsAreStoredAsSuitsTheirValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sequence := numbers(5000, func(i int) uint64 { return uint64(i) })
	pattern := numbers(20_000, func(i int) uint64 { return uint64(i % 8) })
	noise := numbers(5000, func(int) uint64 { return random.Uint64() })
	runs := numbers(5000, func(i int) uint64 { return uint64(i/100) << 40 })
	longRuns := numbers(200_000, func(i int) uint64 { return uint64(i/40) * 0x9E3779B97F4A7C15 })
	dates := numbers(20_000, func(int) uint64 { return uint64(random.IntN(2000)) * 0x2545F4914F & (1<<40 - 1) })
	few := texts(5000, func(int) string { return fmt.Sprint("customers of kind ", random.IntN(50)) })
	short := texts(500, func(int) string { return fmt.Sprint("name ", random.Uint32()) })
	words := sentences(5000)
	long := texts(200, func(i int) string { return strings.Repeat(fmt.Sprint("a longer text ", i), 40) })
	huge := texts(3, func(i int) string { return strings.Repeat(fmt.Sprint("a huge text ", i), 4000) })

	text, number := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64
	ask := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m["lance-encoding:"+pairs[i]] = pairs[i+1]
		}
		return m
	}
	cases := []struct {
		name     string
		typ      arrow.DataType
		values   *values.Values
		metadata map[string]string
		version  lance.Version
		want     string
	}{
		{"sequence", number, sequence, nil, lance.V2_2, "chunks of InlineBitpacking"},
		{"noise", number, noise, nil, lance.V2_2, "chunks of Flat"},
		{"runs of few values", number, runs, nil, lance.V2_2, "chunks of RLE into lz4(Flat)"},
		{"few numbers below 2^40", number, dates, nil, lance.V2_2, "chunks of InlineBitpacking into OutOfLineBitpacking"},
		{"runs", number, runs, nil, lance.V2_1, "chunks of RLE"},
		{"runs of many values", number, longRuns, nil, lance.V2_2, "chunks of RLE"},
		{"runs not wanted", number, runs, ask("rle-threshold", "0.001"), lance.V2_1, "chunks of InlineBitpacking"},
		{"few texts", text, few, nil, lance.V2_2, "chunks of InlineBitpacking into lz4(Variable)"},
		{"few texts in 2.1", text, few, nil, lance.V2_1, "chunks of InlineBitpacking into Variable"},
		{"few texts as they are", text, few, ask("dict-values-compression", "none"), lance.V2_2, "chunks of InlineBitpacking into Variable"},
		{"dictionary not wanted", text, few, ask("dict-size-ratio", "0.001"), lance.V2_2, "chunks of FSST(Variable)"},
		{"little text", text, short, nil, lance.V2_2, "chunks of Variable"},
		{"words", text, words, nil, lance.V2_2, "chunks of FSST(Variable)"},
		{"words as bytes", arrow.BinaryTypes.Binary, words, nil, lance.V2_2, "chunks of Variable"},
		{"bytes with symbols", arrow.BinaryTypes.Binary, words, ask("compression", "fsst"), lance.V2_2, "chunks of FSST(Variable)"},
		{"words plain", text, words, ask("compression", "none"), lance.V2_2, "chunks of Variable"},
		{"words with zstd", text, words, ask("compression", "zstd"), lance.V2_2, "chunks of zstd(Variable)"},
		{"words with lz4", text, words, ask("compression", "lz4"), lance.V2_2, "chunks of lz4(Variable)"},
		{"noise with zstd", number, noise, ask("compression", "zstd"), lance.V2_2, "chunks of Flat"},
		{"pattern with zstd", number, pattern, ask("compression", "zstd", "bss", "off"), lance.V2_1, "chunks of zstd(InlineBitpacking)"},
		{"sequence split", number, sequence, ask("compression", "lz4"), lance.V2_2, "chunks of lz4(Split(Flat))"},
		{"sequence plain", number, sequence, ask("compression", "none"), lance.V2_2, "chunks of Flat"},
		{"long texts", text, long, nil, lance.V2_2, "zipped FSST(Variable)"},
		{"long texts in chunks", text, long, ask("structural-encoding", "miniblock"), lance.V2_2, "chunks of FSST(Variable)"},
		{"long texts with lz4", text, long, ask("compression", "lz4"), lance.V2_2, "zipped zstd(Variable)"},
		{"huge texts", text, huge, nil, lance.V2_2, "zipped zstd(Variable)"},
		{"huge texts plain", text, huge, ask("compression", "none"), lance.V2_2, "zipped Variable"},
		{"words zipped", text, words, ask("structural-encoding", "fullzip"), lance.V2_2, "zipped FSST(Variable)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pages := pagesOf(t, repdef.Leaf{Type: c.typ, Name: "c", Metadata: c.metadata}, c.values, c.version)
			if got := layoutText(t, pages[0]); got != c.want || len(pages) != 1 {
				t.Errorf("got %d pages, first %s; want 1, %s", len(pages), got, c.want)
			}
		})
	}
}

// pagesOf encodes values that are all valid.
func pagesOf(t *testing.T, leaf repdef.Leaf, v *values.Values, version lance.Version) []encoding.Page {
	t.Helper()
	c, err := NewColumnEncoder(repdef.Path{Leaf: leaf}, version)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.values.AppendRange(v, 0, v.N); err != nil {
		t.Fatal(err)
	}
	c.levels.N = v.N
	var pages []encoding.Page
	if err := c.Flush(func(p encoding.Page) error { pages = append(pages, p); return nil }); err != nil {
		t.Fatal(err)
	}
	return pages
}
