package index

import (
	"slices"
	"testing"

	"tiltyard/shared/lance/rowset"
)

func TestEncodedRowsAreReadAgain(t *testing.T) {
	cases := map[string][]uint64{
		"none":          nil,
		"one":           {7},
		"twice":         {7, 7, 9},
		"fragments":     {0, 1, 2, 5<<32 | 1, 5<<32 | 70_000, 9<<32 | 3},
		"many in a row": make([]uint64, 100_000),
	}
	for i := range cases["many in a row"] {
		cases["many in a row"][i] = 3<<32 + uint64(i)
	}
	for _, treemap := range []bool{false, true} {
		encoder := RowEncoder{Treemap: treemap} // the same for all cases, which begin anew
		for name, rows := range cases {
			for _, row := range rows {
				encoder.Add(row)
			}
			set, read := rowset.At(), AddRows
			if treemap {
				read = AddTreemap
			}
			if err := read(set, encoder.Bytes()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := slices.Collect(set.All()); !slices.Equal(got, slices.Compact(slices.Clone(rows))) {
				t.Errorf("%s: got %d rows, want %d", name, len(got), len(rows))
			}
		}
	}
}
