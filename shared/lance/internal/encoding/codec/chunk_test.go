package codec_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// For any values and codec, an encoder's chunks decode to the values.
func TestChunksAreDecoded(t *testing.T) {
	encoders := map[string]func(v *values.Values, c *compress.Compressor) codec.ChunkEncoder{
		"flat": func(v *values.Values, _ *compress.Compressor) codec.ChunkEncoder {
			return codec.NewFlatEncoder(v, codec.FlatCodec(v, 1))
		},
		"packed": func(v *values.Values, _ *compress.Compressor) codec.ChunkEncoder {
			return codec.NewPackedEncoder(values.ViewAs[uint32](v.Fixed))
		},
		"runs": func(v *values.Values, _ *compress.Compressor) codec.ChunkEncoder {
			return codec.NewRunEncoder(values.ViewAs[uint32](v.Fixed), 32)
		},
		"split": func(v *values.Values, _ *compress.Compressor) codec.ChunkEncoder {
			return codec.NewSplitEncoder(v.Fixed, 4)
		},
		"compressed runs": func(v *values.Values, c *compress.Compressor) codec.ChunkEncoder {
			return codec.NewCompressedEncoder(codec.NewRunEncoder(values.ViewAs[uint32](v.Fixed), 32), nil, c)
		},
		"compressed split": func(v *values.Values, c *compress.Compressor) codec.ChunkEncoder {
			return codec.NewCompressedEncoder(codec.NewSplitEncoder(v.Fixed, 4), nil, c)
		},
	}
	for name, newEncoder := range encoders {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.SampledFrom([]int{1, 2, 3, 255, 256, 1023, 1024, 1025, 4096, 5000}).Draw(t, "values")
				seed, spread, run := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 32).Draw(t, "bits"), rapid.IntRange(1, 600).Draw(t, "run")
				random := rand.New(rand.NewPCG(seed, 0))
				v := values.New(values.FixedShape(32))
				for v.N < n {
					value := values.BytesOf([]uint32{random.Uint32() >> (32 - spread)})
					for range min(n-v.N, 1+random.IntN(run)) {
						v.AppendFixed(value, 1)
					}
				}
				scheme := rapid.SampledFrom([]pb.CompressionScheme{pb.LZ4, pb.Zstd}).Draw(t, "scheme")
				c, err := compress.NewCompressor(compress.Compression{Scheme: scheme})
				if err != nil {
					t.Fatal(err)
				}
				got := decodeChunks(t, newEncoder(v, c), v)
				if diff := cmp.Diff(v.Fixed, got.Fixed); diff != "" {
					t.Fatalf("values (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// decodeChunks cuts values into chunks, encodes and decodes them.
func decodeChunks(t *rapid.T, encoder codec.ChunkEncoder, v *values.Values) *values.Values {
	decoder, err := codec.NewChunkDecoder(encoder.Codec(), v.Shape)
	if err != nil {
		t.Fatal(err)
	}
	got := values.New(v.Shape)
	for at := 0; at < v.N; {
		n := valuesOfChunk(encoder, at, v.N)
		sizes := make([]int, encoder.Buffers())
		b := encoder.Append(nil, at, at+n, sizes)
		var buffers [][]byte
		for _, size := range sizes {
			buffers = append(buffers, b[:size])
			b = b[(size+7)&^7:]
		}
		if err := decoder.Decode(got, buffers, n); err != nil {
			t.Fatal(err)
		}
		if at += n; len(b) > 0 {
			t.Fatalf("chunk with %d bytes too many", len(b))
		}
	}
	return got
}

// valuesOfChunk returns the number of values in the chunk that begins at value at.
func valuesOfChunk(encoder codec.ChunkEncoder, at, n int) int {
	fit, _ := encoder.Fit(at)
	if fit >= n-at {
		return n - at
	}
	return 1 << (bits.Len(uint(fit)) - 1)
}
