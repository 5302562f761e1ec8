package vector

import "math"

// A tileBest holds, for each row of a tile and each lane of a panel, the smallest score so far and the
// number of its vector: the smallest number of equal scores, and 0 if no score is below +Inf.
type tileBest struct {
	scores  [tileRows][panelWidth]float32
	numbers [tileRows][panelWidth]uint32
}

// noBest is the initial tileBest, before any scores. It is never modified.
var noBest = func() (b tileBest) {
	for r := range b.scores {
		for i := range b.scores[r] {
			b.scores[r][i] = float32(math.Inf(1))
		}
	}
	return b
}()

// wideBytes is the approximate size of the panels, at least two, that a kernel processes per tile, so that
// they are in the cache for the next tile.
const wideBytes = 32 << 10

// nearestWide implements nearest with a kernel that compares a tile with several panels and keeps the
// minima in registers.
func (t *Table) nearestWide(rows, offsets []float32, numbers []uint32) []float32 {
	found := make([]float32, len(numbers))
	step := max(wideBytes/(8*panelWidth*t.dim), 1) * 2 * panelWidth
	var best [tableRows / tileRows]tileBest
	for from, block := range t.blocks(rows) {
		for i := range best {
			best[i] = noBest
		}
		for at := 0; at < len(offsets); at += step {
			end := min(at+step, len(offsets))
			for i := 0; i < block.n; i += tileRows {
				nearestTile(block.tile(i), t.panels[at*t.dim:end*t.dim], offsets[at:end], at, &best[i/tileRows])
			}
		}
		for i := 0; i < block.n; i += tileRows {
			var smallest [tileRows]float32
			var which [tileRows]uint32
			smallestOfTile(&best[i/tileRows], &smallest, &which)
			copy(found[from+i:from+block.n], smallest[:])
			copy(numbers[from+i:from+block.n], which[:])
		}
	}
	return found
}

// nearestTilePortable is the reference implementation of nearestTile: it merges the scores of the rows of a
// tile and the vectors of some panels into best. The first vector has the number from. Scores equal those
// of scoreTile.
func nearestTilePortable(rows, panels, offsets []float32, from int, best *tileBest) {
	dim := len(rows) / tileRows
	var scores [tileRows * panelWidth]float32
	for at := 0; at < len(offsets); at += panelWidth {
		scoreTile(rows, panels[at*dim:(at+panelWidth)*dim], offsets[at:at+panelWidth], scores[:], panelWidth)
		for i, score := range scores {
			if r, lane := i/panelWidth, i%panelWidth; score < best.scores[r][lane] {
				best.scores[r][lane], best.numbers[r][lane] = score, uint32(from+at+lane)
			}
		}
	}
}

// smallestOfTilePortable is the reference implementation of smallestOfTile: the smallest score of each row,
// and the smallest number with that score.
func smallestOfTilePortable(best *tileBest, scores *[tileRows]float32, numbers *[tileRows]uint32) {
	for r := range scores {
		scores[r], numbers[r] = best.scores[r][0], best.numbers[r][0]
		for lane, score := range best.scores[r] {
			if number := best.numbers[r][lane]; score < scores[r] || score == scores[r] && number < numbers[r] {
				scores[r], numbers[r] = score, number
			}
		}
	}
}
