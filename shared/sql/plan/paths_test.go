package plan_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

func TestPathsAreThoseOfNamesAndNotOfTexts(t *testing.T) {
	number := arrow.PrimitiveTypes.Int64
	s := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "a", Type: number}, arrow.Field{Name: "b c", Type: number})},
		{Name: "n", Type: number},
	}, nil)
	for text, want := range map[string][][]string{
		"'n' = 's.a'":                             nil,
		"S.a > 1 AND s['b c'] IN (s.a, 2)":        {{"s", "a"}, {"s", "b c"}},
		"s IS NULL OR N = 1 OR s.`b c` = abs(n)":  {{"n"}, {"s"}, {"s", "b c"}},
		"CASE WHEN n > 1 THEN s.a ELSE 0 END = 1": {{"n"}, {"s", "a"}},
	} {
		e, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.Paths(e, s, time.Now())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, paths (-want +got)\n%s", text, err, diff)
		}
	}
}
