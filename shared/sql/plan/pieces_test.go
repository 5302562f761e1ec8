package plan_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/internal/meter"
	"tiltyard/shared/sql/internal/sqltest"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A lookedAt counts the checks of a context.
type lookedAt struct {
	context.Context
	looks int
}

func (c *lookedAt) Err() error {
	c.looks++
	return c.Context.Err()
}

// textsOf is a batch of one column s.
func textsOf(values ...string) arrow.RecordBatch {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	s := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	return array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, int64(len(values)))
}

// TestFunctionsWorkOnALongValueInPieces verifies that functions check the context while they process one long
// value.
func TestFunctionsWorkOnALongValueInPieces(t *testing.T) {
	const megabytes = 16
	rec := textsOf(strings.Repeat("aé Σ", megabytes<<20/6))
	for _, text := range []string{
		"upper(s)", "lower(s)", "reverse(s)", "initcap(s)", "md5(s)", "sha224(s)", "sha256(s)", "sha384(s)", "sha512(s)",
		"digest(s, 'md5')", "ltrim(s, 'aé Σ')", "rtrim(s, 'aé Σ')", "btrim(s, 'Σ éa0123456789ABCDEF')", "contains_tokens(s, 'b')",
	} {
		e, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := plan.Bind(t.Context(), e, rec.Schema(), sqltest.Clock)
		if err != nil {
			t.Fatal(err)
		}
		ctx := &lookedAt{Context: t.Context()}
		if _, err := b.Eval(ctx, rec); err != nil {
			t.Fatal(err)
		}
		if ctx.looks < megabytes {
			t.Errorf("%s: %d looks at the context for %d MB", text, ctx.looks, megabytes)
		}
	}
}

// TestPiecesOfALongValueAreOneText tests matches across the boundaries of pieces.
func TestPiecesOfALongValueAreOneText(t *testing.T) {
	for before := meter.LookBytes - 8; before <= meter.LookBytes+2; before++ {
		s := strings.Repeat("x", before) + "ΑΣßé" + strings.Repeat("y", meter.LookBytes)
		rec := textsOf(s, strings.Replace(s, "ΑΣ", "ΑΣ ", 1))
		got, err := sqltest.Compute("upper(lower(s)) = upper(s) AND contains(lower(s), CASE WHEN contains(s, ' ') THEN 'ας ' ELSE 'ασ' END)", rec)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != "[true true]" {
			t.Errorf("%d bytes before: got %s", before, got)
		}
		if got, err = sqltest.Compute("sha256(s) = digest(concat(s, ''), 'sha256') AND md5(s) = encode(digest(s, 'md5'), 'hex')", rec); err != nil || got.String() != "[true true]" {
			t.Errorf("%d bytes before: got %v, %v", before, got, err)
		}
	}
}

// TestTrimsByAnySet trims characters with sets of all sizes.
func TestTrimsByAnySet(t *testing.T) {
	const many = "0123456789abcdefghijé"
	for text, want := range map[string]string{
		"btrim('  a b  ')": "a b", "ltrim('  a')": "a", "rtrim('a  ')": "a", "btrim('    ')": "", "btrim('', 'a')": "", "btrim('aba', '')": "aba",
		"btrim('éaxaé', 'éa')": "x", "ltrim('éaxaé', 'éa')": "xaé", "btrim('0éx y9a', '" + many + "')": "x y", "btrim('é0', '" + many + "')": "",
		"btrim(s, s)": "", "btrim(s, '" + many + "')": "S",
	} {
		got, err := sqltest.Compute(text, textsOf("aS"))
		if err != nil || got.(*array.String).Value(0) != want {
			t.Errorf("%s: got %v, %v, want %q", text, got, err, want)
		}
	}
	// A character of the text for each of the set would be a billion comparisons.
	rec := textsOf(strings.Repeat("é", 1<<20))
	if got, err := sqltest.Compute("octet_length(btrim(s, repeat('x', 1000000) || 'é'))", rec); err != nil || got.String() != "[0]" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFormatsOfDatesAreBounded(t *testing.T) {
	rec := textsOf(strings.Repeat("%Y", 1<<20), "%Y")
	for _, text := range []string{"to_char(date '2024-01-31', s)", "to_timestamp('2024', s)", "to_time('9:30', s)"} {
		if _, err := sqltest.Compute(text, rec); !errors.Is(err, sql.ErrTooLarge) {
			t.Errorf("%s: got %v, want ErrTooLarge", text, err)
		}
	}
}

// TestConvertEndsWithItsContext ends a conversion that has begun, too.
func TestConvertEndsWithItsContext(t *testing.T) {
	values := make([]string, 100_000)
	for i := range values {
		values[i] = "12"
	}
	rec := textsOf(values...)
	ctx := &lookedAt{Context: t.Context()}
	if _, err := cast.Convert(ctx, rec.Column(0), arrow.PrimitiveTypes.Int64); err != nil || ctx.looks < 3 {
		t.Errorf("got %v, and %d looks at the context", err, ctx.looks)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cast.Convert(ended, rec.Column(0), arrow.PrimitiveTypes.Int64); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}
