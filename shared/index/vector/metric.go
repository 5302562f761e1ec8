package vector

import (
	"fmt"
	"strings"
)

// A Metric is a measure of the distance of two vectors. Smaller is nearer.
type Metric uint8

// The metrics of the format. L2, Cosine and Dot measure float vectors, Hamming bytes.
const (
	L2      Metric = iota // squared Euclidean distance: sum of (x-y)², no root taken
	Cosine                // 1 - cos(x, y), from 0 (same direction) to 2; NaN for a zero vector
	Dot                   // 1 - x·y; may be negative
	Hamming               // number of differing bits
)

// ParseMetric returns the metric with the given name, in any case. The names are l2 (or
// euclidean), cosine, dot and hamming.
func ParseMetric(name string) (Metric, error) {
	switch strings.ToLower(name) {
	case "l2", "euclidean":
		return L2, nil
	case "cosine":
		return Cosine, nil
	case "dot":
		return Dot, nil
	case "hamming":
		return Hamming, nil
	}
	return 0, fmt.Errorf("unknown distance metric %q (known: l2, cosine, dot, hamming)", name)
}

// String returns the name of the metric in lower case, which [ParseMetric] accepts.
func (m Metric) String() string {
	switch m {
	case L2:
		return "l2"
	case Cosine:
		return "cosine"
	case Dot:
		return "dot"
	case Hamming:
		return "hamming"
	}
	return fmt.Sprintf("metric(%d)", uint8(m))
}
