package encoding

import (
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance/encoding/bitpack"
)

// valueLevels returns the definition level of each stored value, none when no value is
// cut off.
func (p *pageRows) valueLevels() []uint16 {
	if len(p.def) == 0 || p.n == p.values.n {
		return p.def
	}
	levels := make([]uint16, 0, p.values.n)
	for _, d := range p.def {
		if d <= p.visible {
			levels = append(levels, d)
		}
	}
	return levels
}

// countChanges counts the numbers that differ from the one before, leaving out nulls,
// which have a level other than 0. Runs are that many at least.
func countChanges[T bitpack.Integer](numbers []T, levels []uint16) int {
	changes := 0
	if len(levels) == 0 {
		for i := 1; i < len(numbers); i++ {
			if numbers[i] != numbers[i-1] {
				changes++
			}
		}
		return changes
	}
	last := firstNumber(numbers, levels)
	for i, number := range numbers {
		if levels[i] == 0 && number != last {
			changes++
			last = number
		}
	}
	return changes
}

// minJoined is how many numbers are worth it to think of nulls among them.
const minJoined = 32

// joinRuns returns the numbers with others where nulls are, which may be anything: the
// one before, so that a null does not end a run.
func joinRuns[T bitpack.Integer](numbers []T, levels []uint16) []T {
	if len(levels) == 0 {
		return numbers
	}
	joined := make([]T, len(numbers))
	last := firstNumber(numbers, levels)
	for i, number := range numbers {
		if levels[i] == 0 {
			last = number
		}
		joined[i] = last
	}
	return joined
}

// firstNumber returns the first that is not null, if there is any.
func firstNumber[T bitpack.Integer](numbers []T, levels []uint16) T {
	return numbers[max(0, slices.Index(levels, 0))]
}

// clearNulls puts zeros where values from first on are null.
func (v *values) clearNulls(valid *bitmap, first int) {
	width := v.shape.valueBits()
	for at := first / 8; at < len(valid.bytes); at++ {
		// Bits before first are of values that are zeros already where they are null.
		if width == 1 {
			v.fixed[at] &= valid.bytes[at]
			continue
		}
		for nulls := ^valid.bytes[at]; nulls != 0; nulls &= nulls - 1 {
			i := 8*at + bits.TrailingZeros8(nulls)
			switch {
			case i >= valid.n:
				return
			case v.shape.bits == 1:
				bitutil.SetBitsTo(v.fixed, int64(i*width), int64(width), false)
			default:
				clear(v.fixed[i*width/8:][:width/8])
			}
		}
	}
}
