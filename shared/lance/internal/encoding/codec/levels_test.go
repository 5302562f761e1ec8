package codec_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/pb"
)

func repeat(level uint16, n int) []uint16 { return slices.Repeat([]uint16{level}, n) }

func TestLevelsTakeTheirSmallestForm(t *testing.T) {
	mixed := make([]uint16, 2000)
	for i := range mixed {
		mixed[i] = uint16(i % 3)
	}
	flat := &pb.Flat{BitsPerValue: 16}
	packed := func(width uint64) pb.Codec {
		return &pb.OutOfLineBitpacking{UncompressedBits: 16, Values: &pb.Flat{BitsPerValue: width}}
	}
	runs := &pb.RLE{Values: &pb.Flat{BitsPerValue: 16}, RunLengths: &pb.Flat{BitsPerValue: 8}}
	cases := []struct {
		name    string
		levels  []uint16
		mayRLE  bool
		want    pb.Codec
		maxSize int
	}{
		{"a few", []uint16{0, 1, 0}, true, flat, 6},
		{"many", mixed, true, packed(2), 512},
		{"all alike", repeat(1, 1000), true, runs, 8 + 3*4},
		{"all alike without run lengths", repeat(1, 1000), false, packed(1), 128},
		{"all zero", repeat(0, 1000), true, runs, 8 + 3*4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			encoder := codec.ChooseLevelEncoder(c.levels, []int{len(c.levels)}, math.MaxInt, c.mayRLE)
			if diff := cmp.Diff(c.want, encoder.Codec); diff != "" {
				t.Errorf("codec (-want +got):\n%s", diff)
			}
			if got := len(encoder.AppendBlock(nil, c.levels)); got > c.maxSize {
				t.Errorf("got %d bytes, want at most %d", got, c.maxSize)
			}
		})
	}
}

func TestEncodedLevelsAreDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		highest := rapid.Uint16Range(0, 9).Draw(t, "highest")
		lengths := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 255, 256, 1023, 1024, 1025, 4096, 4097, 32767})
		blocks := rapid.SliceOfN(lengths, 1, 3).Draw(t, "blocks")
		total := 0
		for _, n := range blocks {
			total += n
		}
		run := rapid.IntRange(1, 600).Draw(t, "run")
		levels := make([]uint16, total)
		for i := range levels {
			levels[i] = uint16(i/run) % (highest + 1)
		}
		encoder := codec.ChooseLevelEncoder(levels, blocks, math.MaxInt, rapid.Bool().Draw(t, "may be run lengths"))
		var got []uint16
		at := 0
		for _, n := range blocks {
			b := encoder.AppendBlock(nil, levels[at:at+n])
			if len(b) > 65535 {
				t.Fatalf("got a block of %d bytes, want its size in 16 bits", len(b))
			}
			var err error
			if got, err = codec.AppendLevels(got, encoder.Codec, b, n); err != nil {
				t.Fatal(err)
			}
			at += n
		}
		if !slices.Equal(got, levels) {
			t.Fatalf("got %v, want %v", got, levels)
		}
	})
}
