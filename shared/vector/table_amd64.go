package vector

func scoreTile(rows, panel, offsets, out []float32, stride int) {
	if hasAVX2 {
		scoreTileAVX2(rows, panel, offsets, out, stride)
	} else {
		scorePortable(rows, panel, offsets, out, stride)
	}
}

//go:noescape
func scoreTileAVX2(rows, panel, offsets, out []float32, stride int)
