package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/pruning"
	"tiltyard/shared/sql/syntax"
)

func probeSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "b", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "f", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "x.y", Type: arrow.StructOf(arrow.Field{Name: "z", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), Nullable: true},
		{Name: "none", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, // without an index
	}, nil)
}

func probeText(p pruning.Probe) string {
	tests := []string{"equal", "range", "null", "elements", "prefix", "pattern", "regexp", "contains", "tokens"}
	text := strings.Join(p.Column, "/") + " " + tests[p.Test]
	if p.Not {
		text = "not " + text
	}
	if p.Text != "" {
		text += fmt.Sprintf(" %q", p.Text)
	}
	return text
}

func probesOf(t *testing.T, filter string, answer func(pruning.Probe) pruning.Answer) []string {
	t.Helper()
	e, err := syntax.Parse(filter)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := plan.BindFilter(t.Context(), e, probeSchema(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	narrowing, _ := bound.Narrow(answer)
	for _, p := range narrowing.Probes() {
		used = append(used, probeText(p))
	}
	return used
}

func TestProbesOfFilters(t *testing.T) {
	answersAll := func(p pruning.Probe) pruning.Answer {
		if p.Column[0] == "none" {
			return pruning.Open
		}
		return pruning.Answers
	}
	for filter, want := range map[string][]string{
		"a = 1":                                {"a equal"},
		"1 + 1 < a":                            {"a range"},
		"a != 1":                               {"not a equal"},
		"NOT a > 1":                            {"a range"},
		"a BETWEEN 1 AND 5":                    {"a range", "a range"},
		"a IN (1, 2)":                          {"a equal"},
		"a NOT IN (1, 2)":                      {"not a equal"},
		"a IN (1, NULL)":                       nil,
		"a IN (none, 1)":                       nil,
		"a = none":                             nil,
		"a + 1 = 2":                            nil,
		"a IS NULL":                            {"a null"},
		"a IS NOT NULL":                        {"not a null"},
		"a = NULL":                             nil,
		"a IS DISTINCT FROM 1":                 nil,
		"f":                                    {"f equal"},
		"NOT f":                                {"not f equal"},
		"f IS TRUE":                            {"f equal"},
		"f IS NOT TRUE":                        nil,
		"`x.y`.z = 1":                          {"x.y/z equal"},
		"array_has(l, 'x')":                    {"l elements"},
		"NOT array_has_any(l, ['x'])":          {"not l elements"},
		"array_has_all(l, [])":                 nil,
		"array_has(['x'], s)":                  {"s equal"}, // which is an IN
		"s LIKE 'ab%'":                         {"s prefix"},
		"s LIKE 'ab'":                          {"s equal"},
		"s NOT LIKE 'ab'":                      {"not s equal"},
		"s LIKE '%abc_%'":                      {"s pattern"},
		"s LIKE 'a\\_b%'":                      {"s prefix"},
		"s NOT LIKE 'ab%'":                     nil,
		"s ILIKE 'ab%'":                        nil,
		"starts_with(s, 'ab')":                 {"s prefix"},
		"starts_with(s, '')":                   {"s pattern"}, // LIKE '%'
		"contains(s, 'a b')":                   {`s contains "a b"`},
		"contains_tokens(s, 'a b')":            {"s tokens"},
		"a = 1 AND b > 2":                      {"a equal", "b range"},
		"a = 1 AND none = 2":                   {"a equal"},
		"a = 1 OR b > 2":                       {"a equal", "b range"},
		"a = 1 OR none = 2":                    nil,
		"(a = 1 AND none = 2) OR b > 2":        nil,
		"(a = 1 OR none = 2) AND b > 2":        {"b range"},
		"NOT (a = 1 AND b > 2)":                {"not a equal", "b range"},
		"s LIKE 'ab%' OR a = 1":                {"s prefix", "a equal"},
		"s LIKE 'a_%' OR a = 1":                nil, // there is more to test than the prefix
		"s LIKE 'ab%c' AND a = 1":              {"s prefix", "a equal"},
		"CASE WHEN a = 1 THEN true ELSE f END": nil,
		"coalesce(a = 1, false)":               {"a equal"},
		"coalesce(f, true)":                    {"not f null", "f equal", "f null"},
		"coalesce(f, a = 1)":                   {"not f null", "f equal", "f null", "a equal"},
		"NOT coalesce(f, false)":               {"f null", "not f equal"},
		"s LIKE 'a\\b'":                        {"s pattern"}, // has no prefix without a wildcard
		"regexp_like(s, 'a')":                  {"s pattern"},
		"regexp_like(s, '^a')":                 {"s prefix"},
		"regexp_like(s, '^a$')":                {"s equal"},
		"NOT regexp_like(s, '^a$')":            {"not s equal"},
		"regexp_like(s, '^(a|b_c)$')":          {"s equal"},
		"regexp_like(s, '^b_c$')":              nil,
		"regexp_like(s, '^a|^b')":              nil, // ^[ab]
		"regexp_like(s, '^a|b$')":              nil, // indices do not record the end of a text
		"regexp_like(s, '^a|^b|^c|^d|^e')":     nil,
		"regexp_like(s, '^a$', 'i')":           nil,
		"regexp_like(s, 'a.')":                 nil,
		"regexp_like(s, 'a.', 's')":            {"s regexp"},
		"regexp_like(s, 'a.', 's') OR a = 1":   {"s regexp", "a equal"},
		"regexp_like(s, '.*')":                 {"not s null"},
		"regexp_match(s, 'a')":                 {"s regexp"},
		"regexp_match(s, 'a') IS NULL":         nil,
		"regexp_match(s, 'a') IS NOT NULL":     {"s regexp"},
		"regexp_match('a', s)":                 nil,
	} {
		if got := probesOf(t, filter, answersAll); !slices.Equal(got, want) {
			t.Errorf("%s: got probes %q, want %q", filter, got, want)
		}
	}
}

// An index that finds more rows than pass helps within AND and not within OR.
func TestProbesThatOnlyNarrow(t *testing.T) {
	narrows := func(p pruning.Probe) pruning.Answer {
		if p.Column[0] == "a" {
			return pruning.Narrows
		}
		return pruning.Answers
	}
	for filter, want := range map[string][]string{
		"a = 1 AND b = 2":                {"a equal", "b equal"},
		"a = 1 OR b = 2":                 nil,
		"(a = 1 OR b = 2) AND s = 'x'":   {"s equal"},
		"(a = 1 AND b = 2) OR s = 'x'":   nil,
		"(b = 2 AND f) OR s = 'x'":       {"b equal", "f equal", "s equal"},
		"NOT (a = 1 OR b = 2) AND a < 9": {"not a equal", "not b equal", "a range"},
	} {
		if got := probesOf(t, filter, narrows); !slices.Equal(got, want) {
			t.Errorf("%s: got probes %q, want %q", filter, got, want)
		}
	}
}
