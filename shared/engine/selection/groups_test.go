package selection

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestGroupByHasTheColumnsOfLanceDB(t *testing.T) {
	note := arrow.NewMetadata([]string{"comment"}, []string{"a key"})
	source := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true, Metadata: note},
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "Name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true},
		{Name: "meta", Type: arrow.StructOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int16}), Nullable: true},
	}, nil)
	field := func(t arrow.DataType, nullable bool) arrow.Field { return arrow.Field{Type: t, Nullable: nullable} }
	i64 := arrow.PrimitiveTypes.Int64
	for _, c := range []struct {
		item, key string
		want      arrow.Field
	}{
		{"k", "k", arrow.Field{Type: arrow.PrimitiveTypes.Int32, Nullable: true, Metadata: note}},
		{"K", "K", arrow.Field{Type: arrow.PrimitiveTypes.Int32, Nullable: true, Metadata: note}},
		{"id", "`id`", field(i64, false)},
		{"meta.n", "meta.n", field(arrow.PrimitiveTypes.Int16, true)},
		{"meta['n']", "meta['n']", field(arrow.PrimitiveTypes.Int16, true)},
		{"k + 1", "k", field(i64, true)},
		{"k + 1", "k + 1", field(i64, true)},
		{"upper(\"Name\") || 'x'", "UPPER(`Name`)", field(arrow.BinaryTypes.String, true)},
		{"2", "k", field(i64, false)},
		{"count(*)", "k", field(i64, false)},
		{"COUNT(k) + 1", "k", field(i64, false)},
		{"count(*) > 1", "k", field(arrow.FixedWidthTypes.Boolean, false)},
		{"sum(id)", "k", field(i64, true)},
		{"sum(id) / count(*)", "k", field(i64, true)},
		{"sum(f)", "k", field(arrow.PrimitiveTypes.Float64, true)},
		{"sum(d)", "k", field(&arrow.Decimal128Type{Precision: 20, Scale: 2}, true)},
		{"avg(d)", "k", field(&arrow.Decimal128Type{Precision: 14, Scale: 6}, true)},
		{"min(f)", "k", field(arrow.PrimitiveTypes.Float32, true)},
		{"array_agg(id)", "k", field(arrow.ListOf(i64), true)},
		{"CASE WHEN k > 1 THEN 'a' ELSE 'b' END", "y", field(arrow.BinaryTypes.String, false)},
		{"k % 2", "1", field(i64, true)},
	} {
		q := &Query{Source: []string{"t"}, Columns: []Column{{Name: "y", Expr: c.item}}, GroupBy: []string{c.key}}
		p, err := q.Plan(t.Context(), source)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		if c.want.Name = "y"; !p.Schema.Field(0).Equal(c.want) {
			t.Errorf("%s: got %s, want %s", q, p.Schema.Field(0), c.want)
		}
	}
}

func TestGroupByReadsTheColumnsThatItNeeds(t *testing.T) {
	q, err := Parse("select id, max(id) as m, count(*) filter (where \"Name\" = 'a') as n from t where meta.title <> '' group by id")
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Plan(t.Context(), people)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"id", "Name", "meta"}
	if len(p.Inputs) != len(want) {
		t.Fatalf("got %v, want %v", p.Inputs, want)
	}
	for i, name := range want {
		if p.Inputs[i] != name {
			t.Errorf("got %v, want %v", p.Inputs, want)
		}
	}
}
