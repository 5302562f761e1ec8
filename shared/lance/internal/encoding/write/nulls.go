package write

import (
	"slices"

	"tiltyard/shared/lance/internal/encoding/bitpack"
)

// valueLevels returns the definition level of each stored value; none if no value is cut off.
func (p *pageRows) valueLevels() []uint16 {
	if len(p.def) == 0 || p.n == p.values.N {
		return p.def
	}
	levels := make([]uint16, 0, p.values.N)
	for _, d := range p.def {
		if d <= p.visible {
			levels = append(levels, d)
		}
	}
	return levels
}

// countChanges counts the numbers that differ from their predecessor. It ignores nulls, whose level
// is not 0. The result is a lower bound of the number of runs.
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

// minJoined is the least number of values for which nulls are joined with the runs around them.
const minJoined = 32

// joinRuns returns the numbers with each null replaced by the number before it, so that a null does
// not end a run. The value of a null is arbitrary.
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

// firstNumber returns the first number that is not null, or the first one if all are.
func firstNumber[T bitpack.Integer](numbers []T, levels []uint16) T {
	return numbers[max(0, slices.Index(levels, 0))]
}
