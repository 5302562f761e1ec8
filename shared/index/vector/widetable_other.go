//go:build !amd64

package vector

// Without registers of 16 floats, the scores of a panel are written to memory before the search for the
// smallest.
const hasWideTables = false

func nearestTile(rows, panels, offsets []float32, from int, best *tileBest) {
	nearestTilePortable(rows, panels, offsets, from, best)
}

func smallestOfTile(best *tileBest, scores *[tileRows]float32, numbers *[tileRows]uint32) {
	smallestOfTilePortable(best, scores, numbers)
}
