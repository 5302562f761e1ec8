package engine_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
)

// manyVectors is a table of rows with lists of points on a line.
func manyVectors(t *testing.T) *engine.Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "m", Type: arrow.ListOf(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)), Nullable: true},
	}, nil)
	return enginetest.Create(t, schema, `[
		{"id":0,"m":[[1,0],[5,0]]}, {"id":1,"m":null}, {"id":2,"m":[]}, {"id":3,"m":[[2,0]]}, {"id":4,"m":[[4,0],[0,0],[9,9]]}]`)
}

func TestListsOfVectorsAreMeasuredByLateInteraction(t *testing.T) {
	table := manyVectors(t)
	several := [][]float64{{1, 0}, {4, 0}}
	one := [][]float64{{1, 0}}
	for name, c := range map[string]struct {
		vectors [][]float64
		filter  string
		want    []string
	}{
		// To 1 and to 4 of each row: 0+1, 1+4, 1+0; equal ones in the order of the table.
		"several": {several, "", []string{"id=0 _distance=1", "id=4 _distance=1", "id=3 _distance=5"}},
		"one":     {one, "", []string{"id=0 _distance=0", "id=3 _distance=1", "id=4 _distance=1"}},
		"filter":  {several, "id > 0", []string{"id=4 _distance=1", "id=3 _distance=5"}},
	} {
		q := &query.Query{Nearest: &query.Nearest{Vectors: c.vectors, Numbered: true}, Filter: c.filter, Prefilter: true, Columns: []query.Column{{Name: "id"}}}
		if diff := cmp.Diff(c.want, enginetest.Show(t, table, q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Lists are measured in blocks, which must not show.
func TestVectorListsAreMeasuredInBlocks(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "m", Type: arrow.ListOf(arrow.FixedSizeListOf(1, arrow.PrimitiveTypes.Float64)), Nullable: true},
	}, nil)
	const n = 2000
	rows, want := make([]string, n), make([]float64, n)
	for i := range rows {
		list := make([]string, i%7)
		nearest := math.Inf(1)
		for j := range list {
			x := float64((i*31 + j*17) % 1000)
			list[j], nearest = fmt.Sprintf("[%v]", x), min(nearest, (x-500)*(x-500))
		}
		rows[i], want[i] = fmt.Sprintf(`{"id":%d,"m":[%s]}`, i, strings.Join(list, ",")), nearest
	}
	table := enginetest.Create(t, schema, "["+strings.Join(rows, ",")+"]")
	k := int64(n)
	q := &query.Query{Nearest: &query.Nearest{Vectors: [][]float64{{500}}, Numbered: true}, Limit: &k, Columns: []query.Column{{Name: "id"}}}
	got := enginetest.Show(t, table, q)
	var lines []string
	for i, d := range want {
		if !math.IsInf(d, 1) {
			lines = append(lines, fmt.Sprintf("id=%d _distance=%v", i, d))
		}
	}
	slices.Sort(lines)
	slices.Sort(got)
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
