package vector

// hasWideTables is true if nearestTile is faster than scoreTile and smallest, which needs AVX-512.
var hasWideTables = hasAVX512

func nearestTile(rows, panels, offsets []float32, from int, best *tileBest) {
	if !hasAVX512 {
		nearestTilePortable(rows, panels, offsets, from, best)
		return
	}
	nearestTileAVX512(rows, panels, offsets, from, best)
}

func smallestOfTile(best *tileBest, scores *[tileRows]float32, numbers *[tileRows]uint32) {
	if !hasAVX512 {
		smallestOfTilePortable(best, scores, numbers)
		return
	}
	smallestOfTileAVX512(best, scores, numbers)
}

//go:noescape
func nearestTileAVX512(rows, panels, offsets []float32, from int, best *tileBest)

//go:noescape
func smallestOfTileAVX512(best *tileBest, scores *[tileRows]float32, numbers *[tileRows]uint32)
