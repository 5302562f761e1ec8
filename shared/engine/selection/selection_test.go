package selection

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
)

var people = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int32},
	{Name: "Name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "meta", Type: arrow.StructOf(arrow.Field{Name: "title", Type: arrow.BinaryTypes.String}), Nullable: true},
	{Name: SourceRowID, Type: arrow.PrimitiveTypes.Uint64},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)},
	{Name: "sizes", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32)},
}, nil)

func TestQueryIsStoredInOneSpelling(t *testing.T) {
	for _, c := range []struct{ in, parsed, planned string }{
		{`select * from t`, "SELECT * FROM t", "SELECT id, `Name`, meta, tags, sizes FROM t"},
		{`SELECT id AS "id", upper("Name") AS "u" FROM "t" WHERE id>1 limit 5;`, "SELECT id, upper(`Name`) AS u FROM t WHERE id > 1 LIMIT 5", ""},
		{`select * from t cross join unnest("tags") c where c<>'a'`, "SELECT * FROM t, UNNEST(tags) AS c WHERE c <> 'a'", "SELECT id, `Name`, meta, c, sizes FROM t, UNNEST(tags) AS c WHERE c <> 'a'"},
		{`select id, c.text as text from t, lateral split_text(meta.title,4,-1+2) c`, "SELECT id, c.text FROM t, split_text(meta.title, 4, -1 + 2) AS c", ""},
		{`select id, c.items from t, WINDOW("tags",2,1) c`, "SELECT id, c.items FROM t, `window`(tags, 2, 1) AS c", ""},
		{`select meta.title as title from "My"."select".t`, "SELECT meta.title FROM `My`.`select`.t", ""},
	} {
		q, err := Parse(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if q.String() != c.parsed {
			t.Errorf("%s: read as %s, want %s", c.in, q, c.parsed)
		}
		p, err := q.Plan(t.Context(), people)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if want := c.planned; want != "" && p.Query.String() != want || want == "" && p.Query.String() != c.parsed {
			t.Errorf("%s: stored as %s", c.in, p.Query)
		}
	}
}

func TestParseNamesConstructsThatNoViewCanHave(t *testing.T) {
	for in, want := range map[string]string{
		"select id from t order by id":                                 `"order"`,
		"select id, count(*) as n from t group by id having id > 1":    `"having"`,
		"select id, meta as n from t group by id":                      "must be in GROUP BY",
		"select id, meta.title as n from t group by id":                "must be in GROUP BY",
		"select meta from t group by meta":                             "GROUP BY a value of type struct",
		"select id, count(*) as n from t group by missing":             "missing",
		"select id, missing as n from t group by id":                   "must be in GROUP BY",
		"select id, sum(sum(id)) as n from t group by id":              "within another",
		"select id from t where count(*) > 1 group by id":              "other than in a column",
		"select count(*) as n from t":                                  "other than in a column",
		"select count(*) as n from t group by count(*)":                "other than in a column",
		"select count(*) as n from t group by n":                       "other than in a column",
		"select id, sum(*) as n from t group by id":                    "only count takes *",
		"select id, sum(meta.title) as n from t group by id":           "function sum of a value of type utf8",
		"select id, array_agg(meta) as n from t group by id":           "function array_agg of a value of type struct",
		"select id, avg(id, id) as n from t group by id":               "takes 1 argument",
		"select id, var(distinct id) as n from t group by id":          "var(DISTINCT",
		"select id, count(distinct id, id) as n from t group by id":    "count(DISTINCT",
		"select id, upper(distinct id) as n from t group by id":        "aggregate function upper",
		"select id, array_agg(id order by id) as n from t group by 1":  "ORDER in the arguments",
		"select id, sum(id) over () as n from t group by id":           "OVER after a function call",
		"select id, first_value(id) as n from t group by id":           "function first_value",
		"select id, random() as n from t group by id":                  "function random",
		"select id, max(random()) as n from t group by id":             "function random",
		"select id, max(now()) as n from t group by id":                "function now",
		"select id, count(*) filter (where id) as n from t group by 1": "must be of type bool",
		"select id, cast(id as varchar) as n from t group by id":       "CAST to a text",
		"select id, ivf_partition(id) as n from t group by id":         "function ivf_partition",
		"select id from t group by 2":                                  "no column with this number",
		"select id from t group by 0":                                  "no column with this number",
		"select id, count(*) as id from t group by id":                 "two columns",
		"select id as __source_row_id from t group by id":              "reserved",
		"select id from t group by rollup(id)":                         "GROUP BY rollup",
		"select * from t group by id":                                  "* with GROUP BY",
		"select id from t having id > 1":                               `"having"`,
		"select id from t join u":                                      `"join"`,
		"select id from t, u":                                          "more than one table",
		"select id from t cross join u":                                "more than one table",
		"select id from split(t) as c":                                 "in place of the table",
		"select * from vector_dedup('t', 3, 'v', 4.0)":                 "vector_dedup in FROM, which compares",
		"select id from t, unnest(x) as c":                             "not a column",
		"select id from t, unnest(id) as c":                            "not a list",
		"select id from t, unnest(sizes) as c":                         "not a list",
		"select id from t, unnest(tags) as id":                         "is that of a column",
		"select id from t, unnest(tags) as tags":                       "is that of a column",
		"select id from t, unnest(tags) as _rowid":                     "reserved",
		"select id from t, unnest(tags)":                               "without a name",
		"select id from t, unnest(a.b) as c":                           "one top-level column",
		"select id from t, unnest(tags, tags) as c":                    "one top-level column",
		"select id from t, unnest(tags) as c(x)":                       `"("`,
		"select id from t, unnest(tags) as c, f(id) as d":              "more than one UNNEST",
		"select tags from t, unnest(tags) as c":                        "tags",
		"select c.x from t, unnest(tags) as c":                         "x",
		"select id from t, unnest(tags) as c limit 2":                  "LIMIT together",
		"select id from t, lateral unnest(tags) as c":                  "unnest as the name of a function",
		"select id from t, f(id, 2)":                                   "without a name",
		"select id from t, n.f(id) as c":                               "more than one table",
		"select id from t, f(id) as c":                                 "function f in FROM, which is none of",
		"select id from t, split_lines() as c":                         "without a text",
		"select id from t, split_lines(id) as c":                       "not a text",
		"select id from t, split_lines(meta.title, 1) as c":            "at most 0",
		"select id from t, split_text(meta.title, id) as c":            "a constant must be",
		"select id from t, split_text(meta.title, 5, 5) as c":          "overlap is 5",
		"select id from t, split_text(meta.title, 0) as c":             "size is 0",
		"select id from t, split_text(meta.title, 1e9) as c":           "not a constant of type int64",
		"select id from t, split_text(meta.title, 99999999999) as c":   "size is 99999999999",
		"select id from t, split_text(now()::string, 5) as c":          "function now",
		"select id from t, split_lines(missing) as c":                  "missing",
		"select c.x from t, split_lines(meta.title) as c":              "x",
		"select id from t, split_lines(meta.title) as meta":            "is that of a column",
		"select id from t, split_lines(c.text) as c":                   "c",
		"select id from t, window(tags) as c":                          "has 1 arguments",
		"select id from t, window(tags, 2, 1, 1) as c":                 "has 4 arguments",
		"select id from t, window(missing, 2) as c":                    "not a column",
		"select id from t, window(meta.title, 2) as c":                 "not a column",
		"select id from t, window(sizes, 2) as c":                      "not a list",
		"select id from t, window(tags, 'a') as c":                     "whole number",
		"select id from t, window(tags, id) as c":                      "a constant must be",
		"select id from t, window(tags, 0) as c":                       "size is 0",
		"select id from t, window(tags, 2, 0) as c":                    "step is 0",
		"select id from t, window(tags, 6400, 99) as c":                "step is 99",
		"select id from t, window(tags, 2, 9223372036854775807) as c":  "step is 9223372036854775807",
		"select id from t, window as c":                                "window as the name of a function",
		"select distinct id from t":                                    `"distinct"`,
		"select *, id from t":                                          "beside *",
		"select id * 2 from t":                                         "without a name",
		"select id from t limit -1":                                    "LIMIT",
		"select id from t limit 9223372036854775808":                   "LIMIT",
		"select id, id from t":                                         "two columns",
		"select id as _rowid from t":                                   "reserved",
		"select id as __input_0 from t":                                "reserved",
		"select now() as x from t":                                     "function now",
		"select id from t where random() > 0.5":                        "function random",
		"select id from t where id":                                    "type bool",
		"select missing from t":                                        "missing",
		"select 'a''''b' as y from t":                                  "a quote follows",
		`select 'a\''' as y from t`:                                    "a quote follows",
	} {
		q, err := Parse(in)
		if err == nil {
			_, err = q.Plan(t.Context(), people)
		}
		var bad *sql.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %s", in, err, want)
		}
	}
}

func TestColumnKeepsItsMetadata(t *testing.T) {
	note := func(more ...string) arrow.Metadata {
		m := map[string]string{"comment": "kept"}
		for _, key := range more {
			m[key] = "dropped"
		}
		return arrow.MetadataFrom(m)
	}
	declared := note("lance:field_id", "lance-schema:unenforced-primary-key", "computed_column", "computed_column.kind", "computed_refresh.definition_version")
	nested := func(m arrow.Metadata) []arrow.Field {
		f := arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true, Metadata: m}
		return []arrow.Field{
			f,
			{Name: "s", Type: arrow.StructOf(f), Metadata: m},
			{Name: "l", Type: arrow.ListOfField(f), Metadata: m},
			{Name: "ll", Type: arrow.LargeListOfField(f), Metadata: m},
			{Name: "f", Type: arrow.FixedSizeListOfField(2, f), Metadata: m},
		}
	}
	p, err := (&Query{Source: []string{"t"}}).Plan(t.Context(), arrow.NewSchema(nested(declared), nil))
	if err != nil {
		t.Fatal(err)
	}
	if want := arrow.NewSchema(nested(note()), nil); !p.Schema.Equal(want) {
		t.Errorf("got %s, want %s", p.Schema, want)
	}
}

// The spelling of a parsed query parses to the same query.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"select * from t", "SELECT id AS \"a b\", -x::int as y FROM `A`.t WHERE not(case when a then 'b' end) LIMIT 5;",
		"select trim(both 'x' from a), ceil(a) y, [1][2], x'0a', interval '1' day from t", "select a['b'].c d from t where a not null",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(q.String())
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, q, err)
		}
		if again.String() != q.String() {
			t.Fatalf("%q is written as %q, and then as %q", text, q, again)
		}
	})
}
