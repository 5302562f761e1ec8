package vector

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// number reads a JSON number, or a string for values such as NaN that JSON cannot represent.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = number(x)
	return err
}

// goldenCase is one search by native Lance.
type goldenCase struct {
	Name, Element, Metric string
	K                     int
	Lower, Upper          *float32
	Query                 []number
	Rows                  [][]number
	IDs                   []uint64
	Distances             []number
}

// TestSearchAnswersAsNativeLance repeats searches of testdata/golden.json, among them
// ties, bounds, zero vectors, overflow, NaN and infinities.
func TestSearchAnswersAsNativeLance(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []goldenCase }
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}

	single := func(n number) float32 { return float32(n) }
	for _, c := range golden.Cases {
		t.Run(c.Name, func(t *testing.T) {
			switch c.Element {
			case "float16":
				checkGolden(t, c, func(n number) uint16 { return RoundToFloat16([]float32{float32(n)})[0] })
			case "float32":
				checkGolden(t, c, single)
			case "float64":
				checkGolden(t, c, func(n number) float64 { return float64(n) })
			case "uint8":
				checkGolden(t, c, func(n number) uint8 { return uint8(n) })
			default:
				t.Fatalf("unknown element %q", c.Element)
			}
		})
	}
}

func checkGolden[T Element](t *testing.T, c goldenCase, narrow func(number) T) {
	metric, err := ParseMetric(c.Metric)
	if err != nil {
		t.Fatal(err)
	}
	var query, rows []T
	for _, x := range c.Query {
		query = append(query, narrow(x))
	}
	for _, row := range c.Rows {
		for _, x := range row {
			rows = append(rows, narrow(x))
		}
	}

	q, err := NewQuery(metric, query)
	if err != nil {
		t.Fatal(err)
	}
	distances := make([]float32, len(c.Rows))
	q.Distances(rows, distances)
	top := NewTopK(c.K, Bounds{c.Lower, c.Upper})
	top.AddRun(distances, 0)

	got, want := top.Hits(), c.hits()
	if !strings.HasPrefix(c.Name, "ties") {
		// Rows whose distances differ by rounding only may swap places; ties never do.
		byRow := func(a, b Hit) int { return cmp.Compare(a.RowID, b.RowID) }
		slices.SortFunc(got, byRow)
		slices.SortFunc(want, byRow)
	}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, w := range want {
		g := got[i]
		if g.RowID != w.RowID || g.Distance != w.Distance && !near(g.Distance, float64(w.Distance), c.scale(metric, w)) {
			t.Errorf("hit %d: got %v, want %v", i, g, w)
		}
	}
}

func (c goldenCase) hits() []Hit {
	var hits []Hit
	for i, id := range c.IDs {
		hits = append(hits, Hit{Distance: float32(c.Distances[i]), RowID: id})
	}
	return hits
}

// scale returns the magnitude to which the rounding error is relative. For L2 it is the result, a sum of
// positive terms. Cosine subtracts from 1, and Dot sums terms of either sign.
func (c goldenCase) scale(metric Metric, h Hit) float64 {
	if metric != Dot {
		return max(1, math.Abs(float64(h.Distance)))
	}
	sum := 1.0
	for i, x := range c.Query {
		sum += math.Abs(float64(x * c.Rows[h.RowID][i]))
	}
	return sum
}

func TestMetricsHaveNames(t *testing.T) {
	for _, m := range []Metric{L2, Cosine, Dot, Hamming} {
		got, err := ParseMetric(strings.ToUpper(m.String()))
		if err != nil || got != m {
			t.Errorf("metric named %s: got %v, %v", m, got, err)
		}
	}
	if got, err := ParseMetric("euclidean"); err != nil || got != L2 {
		t.Errorf("euclidean: got %v, %v, want l2", got, err)
	}
	if m, err := ParseMetric("manhattan"); err == nil {
		t.Errorf("manhattan: got %v, want an error", m)
	}
	if got, want := fmt.Sprint(Metric(9)), "metric(9)"; got != want {
		t.Errorf("unknown metric: got %s, want %s", got, want)
	}
}
