package scatter

// Cut divides items of some sizes, in their order, into at most n runs of about the same size, none of them empty. It
// returns where each run ends.
func Cut(sizes []int64, n int64) (ends []int) {
	all := 0.0
	for _, size := range sizes {
		all += float64(size)
	}
	before := 0.0
	for i, size := range sizes {
		if begun := int64(len(ends)) + 1; i > 0 && begun < n && before >= all*float64(begun)/float64(n) {
			ends = append(ends, i)
		}
		before += float64(size)
	}
	if len(sizes) > 0 {
		ends = append(ends, len(sizes))
	}
	return ends
}
