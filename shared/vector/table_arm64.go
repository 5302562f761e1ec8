package vector

//go:noescape
func scoreTile(rows, panel, offsets, out []float32, stride int)

func smallest(scores []float32) int { return smallestPortable(scores) }
