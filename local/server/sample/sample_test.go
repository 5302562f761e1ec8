package sample

import (
	"bytes"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
)

func TestFilmsAreTheSameEachTime(t *testing.T) {
	first, err := films()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	second, err := films()
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	if !array.RecordEqual(first, second) || first.NumRows() != filmCount {
		t.Errorf("%d and %d rows, which must be equal", first.NumRows(), second.NumRows())
	}
}

func TestPostersArePictures(t *testing.T) {
	rows, err := films()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	posters := rows.Column(6).(*array.Binary)
	for i := range 20 {
		if _, err := png.Decode(bytes.NewReader(posters.Value(i))); err != nil || len(posters.Value(i)) > 4<<10 {
			t.Errorf("poster %d of %d bytes: %v", i, len(posters.Value(i)), err)
		}
	}
}

// The neighbours of a film share its genre, and so its words.
func TestNeighboursMakeSense(t *testing.T) {
	rows, err := films()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	genre, list := rows.Column(3).(*array.String), rows.Column(7).(*array.FixedSizeList)
	values := list.ListValues().(*array.Float32).Float32Values()
	vector := func(i int) []float32 { return values[i*dimensions : (i+1)*dimensions] }
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	same, all := 0, 0
	for i := range 50 {
		if length := dot(vector(i), vector(i)); math.Abs(length-1) > 1e-5 {
			t.Fatalf("vector %d has the length %g", i, length)
		}
		order := make([]int, filmCount)
		for j := range order {
			order[j] = j
		}
		slices.SortFunc(order, func(a, b int) int {
			if dot(vector(i), vector(a)) > dot(vector(i), vector(b)) {
				return -1
			}
			return 1
		})
		for _, j := range order[:10] {
			all++
			if genre.Value(j) == genre.Value(i) {
				same++
			}
		}
	}
	if same < all*9/10 {
		t.Errorf("%d of %d neighbours have the same genre", same, all)
	}
}

func TestWordsOfATextDecideItsVector(t *testing.T) {
	d := directions{}
	a, b := d.embed("A DRAGON, and a fox."), d.embed("dragon of the and for")
	if !slices.Equal(a, b) || slices.Equal(a, d.embed("harbour")) {
		t.Error("words of less than four letters count, or others do not")
	}
	if v := d.embed(strings.Repeat("a ", 3)); v[0] != 0 {
		t.Errorf("a text without words has the vector %v", v)
	}
}
