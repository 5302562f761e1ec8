package bloomfilter

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/cespare/xxhash/v2"

	"tiltyard/shared/index"
)

// A filter is a split block Bloom filter: blocks of 8 little-endian words of 32 bits. The upper half of a
// value's hash selects a block, and the lower half one bit in each word of that block.
//
// Source: the Parquet format, which defines it; utils/bloomfilter/sbbf.rs of crate lance-core.
type filter []byte

const (
	wordBytes  = 4
	blockWords = 8
	blockBytes = wordBytes * blockWords
)

// salts make the bits of a value differ from word to word.
var salts = [blockWords]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}

// isFilter reports whether data consists of one or more whole blocks.
func isFilter(data []byte) bool { return len(data) > 0 && len(data)%blockBytes == 0 }

// mayHaveOne reports whether the filter may contain a value with one of the hashes.
func (f filter) mayHaveOne(hashes []uint64) bool { return slices.ContainsFunc(hashes, f.mayHave) }

// mayHave reports whether all bits of a hash are set: one bit in each word of its block, selected by the
// salt of the word.
func (f filter) mayHave(hash uint64) bool {
	block := f.block(hash)
	for i, salt := range salts {
		word := binary.LittleEndian.Uint32(block[wordBytes*i:])
		if word>>(uint32(hash)*salt>>27)&1 == 0 {
			return false
		}
	}
	return true
}

// block returns the block of the value with a hash.
func (f filter) block(hash uint64) []byte {
	blocks := uint64(len(f) / blockBytes)
	at := (hash >> 32 * blocks >> 32) * blockBytes
	return f[at : at+blockBytes]
}

// hashesOf returns the hashes of the values in ranges. all is true if a range may contain any value: it
// spans more than one value, or it is NaN, which has many bit patterns.
func hashesOf(ctx context.Context, ranges []index.Range, t arrow.DataType) (hashes []uint64, all bool, err error) {
	order, err := index.OrderOf(t)
	if err != nil {
		return nil, false, err
	}
	for _, r := range ranges {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		from, to := r.From.Value, r.To.Value
		if from == nil || to == nil || !arrow.TypeEqual(from.DataType(), t) || !arrow.TypeEqual(to.DataType(), t) || order(from, 0, to, 0) != 0 || isNaN(from) {
			return nil, true, nil
		}
		hashes = append(hashes, xxhash.Sum64(bytesAt(from, 0)))
	}
	return hashes, false, nil
}

// IsHashed reports whether Bloom filters support values of a type.
func IsHashed(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP,
		arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY:
		return true
	}
	return false
}

// bytesAt returns the bytes of a value that are hashed: the text or binary itself, or the number in
// little-endian order.
func bytesAt(values arrow.Array, i int) []byte {
	switch values := values.(type) {
	case *array.String:
		return []byte(values.Value(i))
	case *array.LargeString:
		return []byte(values.Value(i))
	case *array.Binary:
		return values.Value(i)
	case *array.LargeBinary:
		return values.Value(i)
	}
	width := values.DataType().(arrow.FixedWidthDataType).Bytes()
	at := (values.Data().Offset() + i) * width
	return values.Data().Buffers()[1].Bytes()[at : at+width]
}

func isNaN(value arrow.Array) bool {
	switch value := value.(type) {
	case *array.Float32:
		return math.IsNaN(float64(value.Value(0)))
	case *array.Float64:
		return math.IsNaN(value.Value(0))
	}
	return false
}
