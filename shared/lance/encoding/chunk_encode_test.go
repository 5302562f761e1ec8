package encoding

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

var shapeOfText = &shape{kind: shapeVariable}

// sentences are texts of a few words.
func sentences(n int) *values {
	words := []string{"the ", "table ", "has ", "a version ", "and ", "rows ", "of ", "fragments "}
	v := newValues(shapeOfText)
	state := uint32(1)
	for range n {
		var text []byte
		for range 3 + state>>8%7 {
			state = state*1664525 + 1013904223
			text = append(text, words[state>>20%8]...)
		}
		if err := v.appendValue(text); err != nil {
			panic(err)
		}
	}
	return v
}

// codecText writes a codec with those inside it.
func codecText(c pb.Codec) string {
	switch c := c.(type) {
	case *pb.General:
		return fmt.Sprintf("%s(%s)", map[pb.CompressionScheme]string{pb.LZ4: "lz4", pb.Zstd: "zstd"}[c.Compression.Scheme], codecText(c.Values))
	case *pb.FSST:
		return "FSST(" + codecText(c.Values) + ")"
	case *pb.ByteStreamSplit:
		return "Split(" + codecText(c.Values) + ")"
	}
	return codecName(c)
}

// layoutText says how the values of a page are stored.
func layoutText(t *testing.T, p Page) string {
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
func numbers(n int, value func(i int) uint64) *values {
	v := newValues(fixedShape(64))
	for i := range n {
		v.appendFixed(bytesOf([]uint64{value(i)}), 1)
	}
	return v
}

func texts(n int, text func(i int) string) *values {
	v := newValues(shapeOfText)
	for i := range n {
		if err := v.appendValue([]byte(text(i))); err != nil {
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
		values   *values
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
			pages := pagesOf(t, Leaf{Type: c.typ, Name: "c", Metadata: c.metadata}, c.values, c.version)
			if got := layoutText(t, pages[0]); got != c.want || len(pages) != 1 {
				t.Errorf("got %d pages, first %s; want 1, %s", len(pages), got, c.want)
			}
		})
	}
}

// pagesOf encodes values that are all valid.
func pagesOf(t *testing.T, leaf Leaf, v *values, version lance.Version) []Page {
	t.Helper()
	c, err := NewColumnEncoder(Path{Leaf: leaf}, version)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.values.appendRange(v, 0, v.n); err != nil {
		t.Fatal(err)
	}
	c.levels.n = v.n
	var pages []Page
	if err := c.Flush(func(p Page) error { pages = append(pages, p); return nil }); err != nil {
		t.Fatal(err)
	}
	return pages
}

// Whatever the values and the codec, what the chunks of an encoder hold is decoded.
func TestChunksAreDecoded(t *testing.T) {
	encoders := map[string]func(v *values, c *compressor) chunkEncoder{
		"flat": func(v *values, _ *compressor) chunkEncoder { return &flatEncoder{v, v.flatCodec(1)} },
		"packed": func(v *values, _ *compressor) chunkEncoder {
			return &packedEncoder[uint32]{viewAs[uint32](v.fixed)}
		},
		"runs":  func(v *values, _ *compressor) chunkEncoder { return &runEncoder[uint32]{viewAs[uint32](v.fixed), 32} },
		"split": func(v *values, _ *compressor) chunkEncoder { return &splitEncoder{v.fixed, 4} },
		"compressed runs": func(v *values, c *compressor) chunkEncoder {
			return &compressedEncoder{chunkEncoder: &runEncoder[uint32]{viewAs[uint32](v.fixed), 32}, compressor: c}
		},
		"compressed split": func(v *values, c *compressor) chunkEncoder {
			return &compressedEncoder{chunkEncoder: &splitEncoder{v.fixed, 4}, compressor: c}
		},
	}
	for name, newEncoder := range encoders {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.SampledFrom([]int{1, 2, 3, 255, 256, 1023, 1024, 1025, 4096, 5000}).Draw(t, "values")
				seed, spread, run := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 32).Draw(t, "bits"), rapid.IntRange(1, 600).Draw(t, "run")
				random := rand.New(rand.NewPCG(seed, 0))
				v := newValues(fixedShape(32))
				for v.n < n {
					value := bytesOf([]uint32{random.Uint32() >> (32 - spread)})
					for range min(n-v.n, 1+random.IntN(run)) {
						v.appendFixed(value, 1)
					}
				}
				scheme := rapid.SampledFrom([]pb.CompressionScheme{pb.LZ4, pb.Zstd}).Draw(t, "scheme")
				c, err := newCompressor(compression{scheme: scheme})
				if err != nil {
					t.Fatal(err)
				}
				got := decodeChunks(t, newEncoder(v, c), v)
				if diff := cmp.Diff(v.fixed, got.fixed); diff != "" {
					t.Fatalf("values (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// decodeChunks cuts values into chunks, encodes and decodes them.
func decodeChunks(t *rapid.T, encoder chunkEncoder, v *values) *values {
	decoder, err := newChunkCodec(encoder.codec(), v.shape)
	if err != nil {
		t.Fatal(err)
	}
	got := newValues(v.shape)
	page := pageRows{n: v.n, values: v}
	at := 0
	for _, chunk := range page.cutEven(encoder.fit) {
		sizes := make([]int, encoder.buffers())
		b := encoder.append(nil, at, at+chunk.values, sizes)
		var buffers [][]byte
		for _, size := range sizes {
			buffers = append(buffers, b[:size])
			b = b[(size+7)&^7:]
		}
		if err := decoder.decode(got, buffers, chunk.values); err != nil {
			t.Fatal(err)
		}
		if at += chunk.values; len(b) > 0 {
			t.Fatalf("chunk with %d bytes too many", len(b))
		}
	}
	return got
}

func TestLiteralBlocksAreDecoded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 14, 15, 16, 269, 270, 271, 5000} {
		plain := make([]byte, n)
		for i := range plain {
			plain[i] = byte(random.Uint32())
		}
		b := appendSequence([]byte{byte(n), byte(n >> 8), 0, 0}, plain, 0, 0)
		got, err := decompressLZ4(b, nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if diff := cmp.Diff(string(plain), string(got)); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", n, diff)
		}
	}
}
