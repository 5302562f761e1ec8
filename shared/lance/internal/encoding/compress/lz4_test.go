package compress

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pierrec/lz4/v4"
	"pgregory.net/rapid"
)

func TestLZ4BlocksHoldWhatWasCompressed(t *testing.T) {
	cases := map[string][]byte{
		"nothing":               nil,
		"one byte":              {7},
		"too short for a match": bytes.Repeat([]byte{7}, 12),
		"one match":             bytes.Repeat([]byte{7}, 13),
		"a long match":          bytes.Repeat([]byte{7}, 100_000),
		"long literals":         sequenceBytes(600),
		"a match too far back":  slices.Concat(sequenceBytes(40), make([]byte, 1<<16), sequenceBytes(40)),
	}
	for name, plain := range cases {
		t.Run(name, func(t *testing.T) { checkLZ4(t, new(lz4Encoder), plain) })
	}
}

func TestLZ4EncodersForgetEarlierBlocks(t *testing.T) {
	var encoder lz4Encoder
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{"a", "bcd", "0000", "\x00\x01\x02\x03\x04\x05\x06\x07", "abcdefghijklmnopqrstuvwxyz"}))
	rapid.Check(t, func(t *rapid.T) {
		var plain []byte
		for _, piece := range pieces.Draw(t, "pieces") {
			plain = append(plain, piece...)
		}
		checkLZ4(t, &encoder, plain)
	})
}

// checkLZ4 decompresses by another implementation.
func checkLZ4(t interface{ Fatalf(string, ...any) }, encoder *lz4Encoder, plain []byte) {
	block := encoder.append([]byte("before"), plain)[len("before"):]
	got := make([]byte, len(plain)+1)
	n, err := lz4.UncompressBlock(block, got)
	if err != nil || !bytes.Equal(got[:n], plain) {
		t.Fatalf("%d bytes became a block of %d, and %d after: %v", len(plain), len(block), n, err)
	}
}

// sequenceBytes returns bytes without any repetition of four of them.
func sequenceBytes(n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "%d,", 1000+i)
	}
	return b[:n]
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
