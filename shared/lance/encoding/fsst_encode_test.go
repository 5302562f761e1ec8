package encoding

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

var shapeOfText = &shape{kind: shapeVariable}

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

func TestTextCompressesAndComesBack(t *testing.T) {
	v := sentences(5000)
	encoder := trainText(v)
	if encoder == nil {
		t.Fatal("got no symbols for text with a few words")
	}
	compressed := encoder.compressText(v)
	if got, want := len(compressed.data), len(v.data)/4; got > want {
		t.Errorf("got %d bytes for %d of text, want at most %d", got, len(v.data), want)
	}
	table, err := parseSymbolTable(encoder.table())
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i := range v.n {
		if text, err = table.decode(text[:0], compressed.bytes(i)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, v.bytes(i)) {
			t.Fatalf("value %d: got %q, want %q", i, text, v.bytes(i))
		}
	}
}

func TestTrainingIsDeterministic(t *testing.T) {
	v := sentences(2000)
	if a, b := trainText(v).table(), trainText(v).table(); !bytes.Equal(a, b) {
		t.Error("the same text was given two tables")
	}
}

func TestRandomBytesAreNotText(t *testing.T) {
	v := newValues(shapeOfText)
	state := uint64(1)
	for range 4096 {
		b := make([]byte, 16)
		for i := range b {
			state = state*6364136223846793005 + 1442695040888963407
			b[i] = byte(state >> 40)
		}
		if err := v.appendValue(b); err != nil {
			t.Fatal(err)
		}
	}
	if e := trainText(v); e != nil {
		t.Errorf("got %d symbols for random bytes, want none", len(e.symbols))
	}
}

func TestAnyTextComesBackWithAnySymbols(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few different bytes, zero among them, so that symbols match often and nearly.
		alphabet := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 'b', 255}), 0, 40)
		v := newValues(shapeOfText)
		for _, text := range rapid.SliceOfN(alphabet, 1, 200).Draw(t, "texts") {
			if err := v.appendValue(text); err != nil {
				t.Fatal(err)
			}
		}
		counts, encoder := newSymbolCounts(), newTextEncoder(rapid.SampledFrom([]byte{0, 'a', 255}).Draw(t, "end"))
		for range rapid.IntRange(0, 3).Draw(t, "rounds") {
			counts.clear()
			for _, text := range sampleText(v) {
				counts.add(encoder, text)
			}
			counts.choose(encoder, 0)
		}
		table, err := parseSymbolTable(encoder.table())
		if err != nil {
			t.Fatal(err)
		}
		compressed := encoder.compressText(v)
		for i := range v.n {
			got, err := table.decode(nil, compressed.bytes(i))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, v.bytes(i)) {
				t.Fatalf("got %q, want %q", got, v.bytes(i))
			}
		}
	})
}

func BenchmarkCompressText(b *testing.B) {
	v := sentences(50_000)
	encoder := trainText(v)
	b.Run("train", func(b *testing.B) {
		for b.Loop() {
			trainText(v)
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(v.data)))
		for b.Loop() {
			encoder.compressText(v)
		}
	})
	b.Logf("%.2f of the size", float64(len(encoder.compressText(v).data))/float64(len(v.data)))
}

func BenchmarkDecodeText(b *testing.B) {
	v := sentences(50_000)
	encoder := trainText(v)
	table, err := parseSymbolTable(encoder.table())
	if err != nil {
		b.Fatal(err)
	}
	codes := encoder.compressText(v)
	out := newValues(v.shape)
	b.SetBytes(int64(len(v.data)))
	for b.Loop() {
		out.reset()
		if err := out.appendCodes(table, codes.data, codes.offsets); err != nil {
			b.Fatal(err)
		}
	}
}
