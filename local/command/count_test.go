package command

import "testing"

func TestCells(t *testing.T) {
	for _, test := range []struct {
		done, of int64
		want     string
	}{
		{0, 0, ""},
		{0, 10, "[--------------------]   0% "},
		{5, 10, "[##########----------]  50% "},
		{10, 10, "[####################] 100% "},
		{20, 10, "[####################] 100% "}, // a file that has grown meanwhile
		{1 << 62, 1 << 62, "[####################] 100% "},
	} {
		if got := cellsOf(test.done, test.of); got != test.want {
			t.Errorf("%d of %d: got %q, want %q", test.done, test.of, got, test.want)
		}
	}
}
