package vector

// Rounded measures how a vector is changed by coding: a size, scaled, is rounded down to a magnitude, at most the highest one,
// and stands for the magnitude and a half. It returns the inner product of the sizes with what they stand for, and the sum of
// each magnitude times the next one. The sizes are not negative; their number is a multiple of 8, and none scaled is 2^31 or
// more.
func Rounded(sizes []float32, scale float32, highest int32) (product float64, squares int64) {
	return rounded(sizes, scale, highest)
}

// roundedPortable is the reference implementation of rounded. It adds in several sums, as kernels do, of which none waits for
// another.
func roundedPortable(sizes []float32, scale float32, highest int32) (product float64, squares int64) {
	var product0, product1, product2, product3 float64
	for x := sizes; len(x) >= 4; x = x[4:] {
		m0, m1 := min(int32(x[0]*scale), highest), min(int32(x[1]*scale), highest)
		m2, m3 := min(int32(x[2]*scale), highest), min(int32(x[3]*scale), highest)
		product0 += float64(x[0] * (float32(m0) + 0.5))
		product1 += float64(x[1] * (float32(m1) + 0.5))
		product2 += float64(x[2] * (float32(m2) + 0.5))
		product3 += float64(x[3] * (float32(m3) + 0.5))
		squares += int64(m0*(m0+1) + m1*(m1+1) + m2*(m2+1) + m3*(m3+1))
	}
	return product0 + product1 + product2 + product3, squares
}
