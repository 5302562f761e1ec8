package plan_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/sql/internal/fn"
	"tiltyard/shared/sql/internal/sqltest"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// refusedFunctions are the functions of native Lance that are unsupported here, with the reasons.
var refusedFunctions = []struct {
	names *regexp.Regexp
	why   string
}{
	{regexp.MustCompile(`^(st_\w+|box[23]d|geometrytype)$`), "there are no geometries yet"},
	{regexp.MustCompile(`^union_(extract|tag)$`), "the format has no columns of unions"},
	{regexp.MustCompile(`^(array|list)_(any_match|filter|transform)$`), "the native Lance cannot parse what they take, which are functions"},
	{regexp.MustCompile(`^(arrow_field|arrow_metadata|with_metadata)$`), "metadata of the fields of a query's result, which nobody keeps"},
	{regexp.MustCompile(`^(version|_cast_list_f16)$`), "of the native engine itself"},
}

// specialNames are called with words between their arguments; see package syntax.
const specialNames = " substring substr trim position overlay get_field "

// testdata/functions.txt has the names of all scalar functions that a filter of the native
// Lance may call.
func TestKnowsTheFunctionsOfTheNativeLance(t *testing.T) {
	data, err := os.ReadFile("testdata/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(data))
	if len(names) < 250 {
		t.Fatalf("got %d names, want all", len(names))
	}
	for _, name := range names {
		known := fn.Named(name) != nil || strings.Contains(specialNames, " "+name+" ")
		refused := false
		for _, r := range refusedFunctions {
			refused = refused || r.names.MatchString(name)
		}
		if known == refused {
			t.Errorf("%s: known is %v, refused on purpose is %v", name, known, refused)
		}
	}
}

func TestTellsTheTimeItIsTold(t *testing.T) {
	now := time.Date(2024, 2, 29, 23, 59, 58, 123456789, time.FixedZone("", -3600))
	rec := namedTable(t, "edges")
	for _, c := range []struct{ expr, want string }{
		{"now()", "2024-03-01 00:59:58.123456789"},
		{"current_timestamp", "2024-03-01 00:59:58.123456789"},
		{"CURRENT_DATE", "2024-03-01"},
		{"today()", "2024-03-01"},
		{"current_time()", "00:59:58.123456789"},
		{"now() - interval '1 day'", "2024-02-29 00:59:58.123456789"},
	} {
		e, err := syntax.Parse(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		b, err := plan.Bind(t.Context(), e, rec.Schema(), now)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Eval(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Len() {
			if s := got.ValueStr(i); s != c.want && !strings.HasPrefix(s, strings.Replace(c.want, " ", "T", 1)) {
				t.Fatalf("%s: got %s, want %s", c.expr, s, c.want)
			}
		}
	}
}

func TestRandomValuesDifferByRowAndCall(t *testing.T) {
	rec := namedTable(t, "edges")
	for _, c := range []struct {
		filter string
		rows   int
	}{
		{"random() >= 0.0 AND random() < 1.0", 12},
		{"random() = random()", 0},
		{"random() - random() = 0.0", 0},
		{"uuid() = uuid()", 0},
		{"uuid() != uuid() AND character_length(uuid()) = 36", 12},
		{"id < 3 AND random() < 2.0", 3},
	} {
		got, err := selectRows(c.filter, rec)
		if err != nil || len(got) != c.rows {
			t.Errorf("%s: got %d rows, error %v, want %d", c.filter, len(got), err, c.rows)
		}
	}
	numbers, err := sqltest.Compute("random()", rec)
	if err != nil {
		t.Fatal(err)
	}
	if numbers.ValueStr(0) == numbers.ValueStr(1) {
		t.Errorf("got %v twice", numbers.ValueStr(0))
	}
}
