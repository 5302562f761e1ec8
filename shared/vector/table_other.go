//go:build !amd64 && !arm64

package vector

func scoreTile(rows, panel, offsets, out []float32, stride int) {
	scorePortable(rows, panel, offsets, out, stride)
}

func smallest(scores []float32) int { return smallestPortable(scores) }
