package write

import (
	"hash/maphash"
	"math"

	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/column"
	"tiltyard/shared/lance/internal/encoding/values"
)

// dictSample is the number of values in the sample that shows whether values repeat.
const dictSample = 4096

// buildDictionary returns 32-bit indices and a dictionary for the values. It returns nil if pages
// of their type have no dictionaries, or if a dictionary would not make them much smaller.
func (p *pageRows) buildDictionary() (*values.Values, *column.Dictionary) {
	v := p.values
	if p.distinct || v.N < column.DictMinValues || !p.mayIndex() || looksDistinct(v) {
		return nil, nil
	}
	indices, d := p.indexValues(min(v.N/p.Options.DictDivisor, column.DictMaxItems))
	if d == nil || !p.worthIndexing(d) {
		return nil, nil
	}
	return indices, d
}

// indexValues builds a dictionary of at most maxItems distinct values, like buildDictionary but
// whatever the size of the result.
func (p *pageRows) indexValues(maxItems int) (*values.Values, *column.Dictionary) {
	d := column.NewPageDictionary(p.values.Shape, p.offsetBits, maxItems, p.Options.DictMaxBytes)
	// A null number gets the index of the number before it. A null text counts as an empty
	// one, as it is stored in Arrow arrays and written by the native writer.
	var levels []uint16
	if p.values.Shape.Kind == values.Fixed {
		levels = p.valueLevels()
	}
	indices := values.New(values.FixedShape(32))
	if !d.AppendValues(indices, p.values, levels) {
		return nil, nil
	}
	return indices, d
}

// worthIndexing reports whether the values take far fewer bytes with the dictionary.
func (p *pageRows) worthIndexing(d *column.Dictionary) bool {
	n := p.values.N
	if n < column.DictMinValues || d.Items.N > n/p.Options.DictDivisor {
		return false
	}
	indexed := d.Items.Memory() + d.IndexBytes(n)
	return float64(indexed) < p.Options.DictRatio*float64(p.plainBytes()) && indexed < p.textBytes(indexed)
}

// mayIndex reports whether this version allows indices in place of values of this shape.
func (p *pageRows) mayIndex() bool {
	s := p.values.Shape
	if s.Kind == values.Variable {
		return true
	}
	return s.Kind == values.Fixed && s.Dims == nil && (s.Bits == 128 || s.Bits == 64 && p.wideItems)
}

// plainBytes estimates the size of the values without a dictionary.
func (p *pageRows) plainBytes() int {
	v := p.values
	if v.Shape.Kind == values.Variable {
		return len(v.Data) + v.N*int(p.offsetBits/8)
	}
	if v.Shape.Bits == 64 && !p.Options.Compression.None && !p.zips() {
		return min(len(v.Fixed), 8*codec.PackedSize(values.ViewAs[uint64](v.Fixed)))
	}
	return len(v.Fixed)
}

// textBytes estimates the size of the values compressed by symbols. If that cannot come near
// indexed, it returns math.MaxInt without estimating.
func (p *pageRows) textBytes(indexed int) int {
	if p.values.Shape.Kind != values.Variable || 5*indexed < p.plainBytes() || !p.wantsSymbols() {
		return math.MaxInt
	}
	symbols := p.symbols()
	if symbols == nil {
		return math.MaxInt
	}
	return p.values.N*int(p.offsetBits/8) + int(float64(len(p.values.Data))*symbols.Ratio)
}

// looksDistinct reports whether at most 2 % of the values in a sample occur more than once.
func looksDistinct(v *values.Values) bool {
	step := max(1, v.N/dictSample)
	seen := make(map[uint64]struct{}, min(v.N, dictSample)) // hashes do for a guess
	seed := maphash.MakeSeed()
	sampled := 0
	for i := 0; i < v.N; i += step {
		seen[maphash.Bytes(seed, v.Bytes(i))] = struct{}{}
		sampled++
	}
	return len(seen)*100 >= sampled*98
}
