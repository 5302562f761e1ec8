package arrowipc

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
)

func TestXXHash32OfKnownInputs(t *testing.T) {
	// From the specification's own test vectors and reference implementation.
	cases := map[string]uint32{
		"":    0x02CC5D05,
		"a":   0x550D7456,
		"abc": 0x32D153FF,
		"Nobody inspects the spammish repetition": 0xE2293B2F,
	}
	for in, want := range cases {
		if got := xxHash32([]byte(in)); got != want {
			t.Errorf("%q: got %#x, want %#x", in, got, want)
		}
	}
}

func TestDecodesLZ4FramesOfAllKinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, 300<<10)
	for i := range content {
		content[i] = byte(random.IntN(4)) // compressible
	}
	for i := range content[:100<<10] {
		content[i] = byte(random.Uint32()) // not compressible: stored blocks
	}
	options := map[string][]lz4.Option{
		"defaults":        nil,
		"block checksums": {lz4.BlockChecksumOption(true), lz4.BlockSizeOption(lz4.Block64Kb)},
		"content size":    {lz4.SizeOption(uint64(len(content)))},
		"no checksum":     {lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block256Kb)},
	}
	for name, opts := range options {
		var frame bytes.Buffer
		w := lz4.NewWriter(&frame)
		if err := w.Apply(opts...); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkLZ4Frame(t, name, frame.Bytes(), content)
	}
}

// checkLZ4Frame decodes a frame, and then every kind of damaged frame, which must fail.
func checkLZ4Frame(t *testing.T, name string, frame, content []byte) {
	t.Helper()
	got := make([]byte, len(content))
	if err := decodeLZ4Frame(got, frame); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%s: got error %v, or other content", name, err)
	}
	if err := decodeLZ4Frame(make([]byte, len(content)-1), frame); err == nil {
		t.Errorf("%s: content longer than announced was accepted", name)
	}
	if err := decodeLZ4Frame(make([]byte, len(content)+1), frame); err == nil {
		t.Errorf("%s: content shorter than announced was accepted", name)
	}
	if err := decodeLZ4Frame(got, append(bytes.Clone(frame), 0)); err == nil {
		t.Errorf("%s: a byte after the frame was accepted", name)
	}
	for n := 0; n < len(frame); n += 1 + n/50 {
		if err := decodeLZ4Frame(got, frame[:n]); err == nil {
			t.Errorf("%s: the first %d bytes were accepted", name, n)
		}
	}
	damaged := bytes.Clone(frame)
	damaged[6] ^= 1 // content size or checksum of the header
	if err := decodeLZ4Frame(got, damaged); err == nil {
		t.Errorf("%s: a damaged header was accepted", name)
	}
}
