package materialize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/selection"
	"tiltyard/shared/process/memory"
)

func TestListsAreCutIntoWindows(t *testing.T) {
	for _, c := range []struct {
		n, size, step int64
		want          string
	}{
		{0, 3, 1, ""},
		{1, 3, 1, "0-1"},
		{3, 3, 1, "0-3"},
		{4, 3, 1, "0-3 1-4"},
		{7, 3, 2, "0-3 2-5 4-7"},
		{8, 3, 2, "0-3 2-5 4-7 6-8"},
		{7, 3, 3, "0-3 3-6 6-7"},
		{9, 2, 4, "0-2 4-6 8-9"},
		{8, 2, 4, "0-2 4-6"},
	} {
		var got []string
		for f := range framesOf(&selection.Window{Size: c.size, Step: c.step}, c.n) {
			if int(f.ordinal) != len(got) {
				t.Errorf("window %d has the number %d", len(got), f.ordinal)
			}
			got = append(got, fmt.Sprint(f.start, "-", f.end))
		}
		if got := strings.ReplaceAll(strings.Join(got, " "), " - ", "-"); got != c.want {
			t.Errorf("%d items in windows of %d, %d apart: got %s, want %s", c.n, c.size, c.step, got, c.want)
		}
	}
}

// Windows that overlap far need no more memory than there is, and have the items of their rows.
func TestWindowsKeepTheirShareOfMemory(t *testing.T) {
	const size, step, limit = 6400, 100, 4 << 20
	sizes := []int{3, -1, 0, 100_000, 6401}
	_, batch := expansion(t, "", sizes...)
	share := memory.NewBudget(limit, limit).Open()
	defer share.Close()
	var got []string
	for made, err := range expand(memory.WithShare(t.Context(), share), planned(t, "item", "window(list, 6400, 100)"), batch.NewSlice(0, batch.NumRows()), pass) {
		if err != nil {
			t.Fatal(err)
		}
		window := made.Column(0).(*array.Struct)
		items := window.Field(0).(*array.List)
		for i := range window.Len() {
			from, to := items.ValueOffsets(i)
			first, last := items.ListValues().(*array.Int64).Value(int(from)), items.ListValues().(*array.Int64).Value(int(to-1))
			start, end := window.Field(1).(*array.Int64).Value(i), window.Field(2).(*array.Int64).Value(i)
			if first != start || last != end-1 || to-from != end-start {
				t.Fatalf("the window from %d to %d has the items %d to %d", start, end, first, last)
			}
			got = append(got, fmt.Sprint(made.Column(1).ValueStr(i), ":", window.Field(3).ValueStr(i)))
		}
	}
	var want []string
	for row, n := range sizes {
		for i := 0; n > 0 && (i == 0 || (i-1)*step+size < n); i++ {
			want = append(want, fmt.Sprint(fmt.Sprint(row), ":", fmt.Sprint(i)))
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %d windows, want %d", len(got), len(want))
	}
	if share.Peak() > limit {
		t.Errorf("%d bytes", share.Peak())
	}
}
