package text

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
	"tiltyard/shared/sql/rustregex"
)

// regexpFunctions are the functions on regular expressions; regexp.go implements matching.
var regexpFunctions = map[string]*expr.Function{
	"regexp_like":  {MinArgs: 2, MaxArgs: 3, Bind: bindRegexpLike, Prepare: prepareRegexp, Eval: evalRegexpLike},
	"regexp_match": {MinArgs: 2, MaxArgs: 3, Bind: bindRegexpMatch, Prepare: prepareRegexp, Eval: evalRegexpMatch},
	"regexp_replace": {MinArgs: 3, MaxArgs: 4, Bind: bindRegexpReplace,
		Eval: evalRegexpReplace},
	"regexp_count": {MinArgs: 2, MaxArgs: 4, Bind: expr.Signature(expr.Gives(column.TypeInt64), expr.AsText, expr.AsText, expr.WholeNumber, expr.AsText),
		Eval: evalRegexpCount},
	"regexp_instr": {MinArgs: 2, MaxArgs: 4,
		Bind: expr.Signature(expr.Gives(column.TypeInt64), expr.AsText, expr.AsText, expr.WholeNumber, expr.WholeNumber),
		Eval: evalRegexpInstr},
}

// bindRegexpReplace returns large_utf8 if an argument is cast to a string, and utf8 otherwise.
func bindRegexpReplace(n *expr.Node) (*expr.Node, error) {
	result := column.TypeString
	for _, a := range n.Args[:3] {
		if expr.AsText(a.Type) == nil {
			result = arrow.BinaryTypes.LargeString
		}
	}
	return expr.Signature(expr.Gives(result), expr.CastText)(n)
}

// groupReference is a capturing group in a replacement, \1 or \\1.
var groupReference = regexp.MustCompile(`\\{1,2}(\d+)`)

// evalRegexpReplace replaces the first match, or all matches if the flags contain g. In the replacement,
// \1, $1, ${1} and ${name} stand for groups, and $$ for a dollar sign.
func evalRegexpReplace(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, pattern, replacement := args[0].Texts(), args[1].Texts(), args[2].Texts()
	flags := func(int) []byte { return nil }
	if len(args) == 4 {
		flags = args[3].Texts()
	}
	cache := rustregex.NewCache(m)
	var with []byte
	return expr.BuildTexts(m, n, args, args, rows, func(b *column.TextBuilder, i int) error {
		f := flags(i)
		re, err := cache.Compile(pattern(i), bytes.ReplaceAll(f, []byte("g"), nil))
		if err != nil {
			return err
		}
		if with == nil || !args[2].Const {
			if with, err = replacementOf(replacement(i)); err != nil {
				return err
			}
		}
		s := str(i)
		p, err := re.Translation(s)
		if err != nil {
			return err
		}
		matches := 1
		if bytes.Contains(f, []byte("g")) {
			matches = -1
		}
		return replaceMatches(m, b, s, with, p, matches)
	})
}

// maxReplacement is the most bytes that the replacement of a match may have.
const maxReplacement = 64 << 10

// replacementOf returns a replacement in the notation of Go's regexp package.
func replacementOf(s []byte) ([]byte, error) {
	if len(s) > maxReplacement {
		return nil, sql.Errorf(sql.ErrTooLarge, sql.NoPos, "replacement of more than %d bytes", maxReplacement)
	}
	return append([]byte{}, groupReference.ReplaceAll(s, []byte("$${$1}"))...), nil
}

// replaceMatches appends s after replacing its first matches, or all if matches is -1.
func replaceMatches(m *meter.Meter, b *column.TextBuilder, s, with []byte, p *rustregex.Program, matches int) error {
	if err := b.Reserve(len(s)); err != nil {
		return err
	}
	at, references := 0, bytes.Count(with, []byte("$"))
	err := p.Each(m, s, matches, func(match []int) error {
		most := len(with) + references*(match[1]-match[0])
		if err := b.Reserve(match[0] - at + most); err != nil {
			return err
		}
		b.Data = append(b.Data, s[at:match[0]]...)
		b.Data = p.Expand(b.Data, with, s, match)
		at = match[1]
		return m.Step(16 + most)
	})
	if err != nil {
		return err
	}
	if err := b.Reserve(len(s) - at); err != nil {
		return err
	}
	b.Data = append(b.Data, s[at:]...)
	return nil
}

// evalRegexpCount counts matches from a character on. It never returns NULL: a NULL argument has no
// matches.
func evalRegexpCount(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, pattern := args[0].Texts(), args[1].Texts()
	start := func(int) int64 { return 1 }
	if len(args) > 2 {
		start = column.ValuesOf[int64](args[2])
	}
	flags := func(int) []byte { return nil }
	if len(args) > 3 {
		flags = args[3].Texts()
	}
	cache := rustregex.NewCache(m)
	out, err := expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
		re, err := cache.Compile(pattern(i), flags(i))
		if err != nil {
			return 0, err
		}
		from := start(i)
		if from < 1 {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "regexp_count from a place before the first, which is 1")
		}
		s := str(i)
		t, err := re.Translation(s)
		if err != nil || from-1 > int64(utf8.RuneCount(s)) {
			return 0, err
		}
		count := int64(0)
		err = t.Each(m, s[charOffset(s, from-1):], -1, func([]int) error {
			count++
			return nil
		})
		return count, err
	})
	if out.Const && out.IsNull(0) {
		out.Data = []int64{0}
	}
	out.Valid = nil
	return out, err
}

// evalRegexpInstr returns the position of the n-th match in characters, by default of the first one, or 0
// if there are fewer matches.
func evalRegexpInstr(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, pattern := args[0].Texts(), args[1].Texts()
	start, nth := func(int) int64 { return 1 }, func(int) int64 { return 1 }
	if len(args) > 2 {
		start = column.ValuesOf[int64](args[2])
	}
	if len(args) > 3 {
		nth = column.ValuesOf[int64](args[3])
	}
	cache := rustregex.NewCache(m)
	return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
		s, from, which := str(i), start(i), nth(i)
		if len(s) == 0 {
			return 0, nil
		}
		re, err := cache.Compile(pattern(i), nil)
		if err != nil {
			return 0, err
		}
		if from < 1 || which < 1 {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "regexp_instr from a place, or for a match, before the first, which is 1")
		}
		t, err := re.Translation(s)
		if err != nil || from > int64(utf8.RuneCount(s)) || which > int64(len(s)+1) {
			return 0, err
		}
		begin := charOffset(s, from-1)
		place := int64(0)
		err = t.Each(m, s[begin:], int(which), func(match []int) error {
			if which--; which == 0 {
				place = int64(utf8.RuneCount(s[:begin+match[0]])) + 1
			}
			return nil
		})
		return place, err
	})
}
