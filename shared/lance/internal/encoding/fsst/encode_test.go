package fsst

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// texts are some, as Arrow lays them out.
type texts struct {
	data    []byte
	offsets []int32
}

func (v *texts) add(text []byte) {
	if v.offsets == nil {
		v.offsets = []int32{0}
	}
	v.data = append(v.data, text...)
	v.offsets = append(v.offsets, int32(len(v.data)))
}

func (v *texts) n() int { return len(v.offsets) - 1 }

func (v *texts) at(i int) []byte { return v.data[v.offsets[i]:v.offsets[i+1]] }

func (v *texts) train() *Encoder { return Train(v.data, v.offsets) }

func (v *texts) compress(e *Encoder) *texts {
	data, offsets := e.Compress(v.data, v.offsets)
	return &texts{data, offsets}
}

func sentences(n int) *texts {
	words := []string{"the ", "table ", "has ", "a version ", "and ", "rows ", "of ", "fragments "}
	v := new(texts)
	state := uint32(1)
	for range n {
		var text []byte
		for range 3 + state>>8%7 {
			state = state*1664525 + 1013904223
			text = append(text, words[state>>20%8]...)
		}
		v.add(text)
	}
	return v
}

func TestTextCompressesAndComesBack(t *testing.T) {
	v := sentences(5000)
	encoder := v.train()
	if encoder == nil {
		t.Fatal("got no symbols for text with a few words")
	}
	compressed := v.compress(encoder)
	if got, want := len(compressed.data), len(v.data)/4; got > want {
		t.Errorf("got %d bytes for %d of text, want at most %d", got, len(v.data), want)
	}
	table, err := ParseTable(encoder.Table())
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i := range v.n() {
		if text, err = decode(table, compressed.at(i)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, v.at(i)) {
			t.Fatalf("value %d: got %q, want %q", i, text, v.at(i))
		}
	}
}

func TestTrainingIsDeterministic(t *testing.T) {
	v := sentences(2000)
	if a, b := v.train().Table(), v.train().Table(); !bytes.Equal(a, b) {
		t.Error("the same text was given two tables")
	}
}

func TestRandomBytesAreNotText(t *testing.T) {
	v := new(texts)
	state := uint64(1)
	for range 4096 {
		b := make([]byte, 16)
		for i := range b {
			state = state*6364136223846793005 + 1442695040888963407
			b[i] = byte(state >> 40)
		}
		v.add(b)
	}
	if e := v.train(); e != nil {
		t.Errorf("got %d symbols for random bytes, want none", len(e.symbols))
	}
}

func TestTextComesBackWithAnySymbols(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few different bytes, zero among them, so that symbols match often and nearly.
		alphabet := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 'b', 255}), 0, 40)
		v := new(texts)
		for _, text := range rapid.SliceOfN(alphabet, 1, 200).Draw(t, "texts") {
			v.add(text)
		}
		counts, encoder := newSymbolCounts(), newEncoder(rapid.SampledFrom([]byte{0, 'a', 255}).Draw(t, "end"))
		for range rapid.IntRange(0, 3).Draw(t, "rounds") {
			counts.clear()
			for _, text := range sample(v.data, v.offsets) {
				counts.add(encoder, text)
			}
			counts.choose(encoder, 0)
		}
		table, err := ParseTable(encoder.Table())
		if err != nil {
			t.Fatal(err)
		}
		compressed := v.compress(encoder)
		for i := range v.n() {
			got, err := decode(table, compressed.at(i))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, v.at(i)) {
				t.Fatalf("got %q, want %q", got, v.at(i))
			}
		}
	})
}

func BenchmarkCompressText(b *testing.B) {
	v := sentences(50_000)
	encoder := v.train()
	b.Run("train", func(b *testing.B) {
		for b.Loop() {
			v.train()
		}
	})
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(v.data)))
		for b.Loop() {
			v.compress(encoder)
		}
	})
	b.Logf("%.2f of the size", float64(len(v.compress(encoder).data))/float64(len(v.data)))
}

func BenchmarkDecode(b *testing.B) {
	v := sentences(50_000)
	encoder := v.train()
	table, err := ParseTable(encoder.Table())
	if err != nil {
		b.Fatal(err)
	}
	codes := v.compress(encoder)
	out := make([]byte, MaxSymbol*(len(codes.data)+1))
	b.SetBytes(int64(len(v.data)))
	for b.Loop() {
		end := 0
		for i := range codes.n() {
			if end, err = table.Decode(out, end, codes.at(i)); err != nil {
				b.Fatal(err)
			}
		}
	}
}
