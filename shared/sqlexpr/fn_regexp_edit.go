package sqlexpr

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// regexpFunctions are those of regular expressions; matching is in fn_regexp.go.
var regexpFunctions = map[string]*function{
	"regexp_like":  {minArgs: 2, maxArgs: 3, bind: bindRegexpLike, prepare: prepareRegexp, eval: evalRegexpLike},
	"regexp_match": {minArgs: 2, maxArgs: 3, bind: bindRegexpMatch, prepare: prepareRegexp, eval: evalRegexpMatch},
	"regexp_replace": {minArgs: 3, maxArgs: 4, bind: bindRegexpReplace,
		eval: evalRegexpReplace},
	"regexp_count": {minArgs: 2, maxArgs: 4, bind: signature(gives(typeInt64), asText, asText, wholeNumber, asText),
		eval: evalRegexpCount},
	"regexp_instr": {minArgs: 2, maxArgs: 4,
		bind: signature(gives(typeInt64), asText, asText, wholeNumber, wholeNumber),
		eval: evalRegexpInstr},
}

// bindRegexpReplace returns strings with long offsets if it has to make strings of other
// values, and with short ones if not.
func bindRegexpReplace(n *node) (*node, error) {
	result := typeString
	for _, a := range n.args[:3] {
		if asText(a.typ) == nil {
			result = arrow.BinaryTypes.LargeString
		}
	}
	return signature(gives(result), castText)(n)
}

// groupReference is a capturing group in a replacement, \1 or \\1.
var groupReference = regexp.MustCompile(`\\{1,2}(\d+)`)

// evalRegexpReplace replaces the first match, or all if the flags have a g. In the
// replacement \1, $1, ${1} and ${name} are what a group captured, and $$ is a dollar.
func evalRegexpReplace(n *node, args []vec, rows bitset) (vec, error) {
	str, pattern, replacement := args[0].texts(), args[1].texts(), args[2].texts()
	flags := func(int) []byte { return nil }
	if len(args) == 4 {
		flags = args[3].texts()
	}
	cache := regexCache{}
	return textRows(n, args, rows, func(dst []byte, i int) ([]byte, error) {
		f := string(flags(i))
		re, err := cache.compile(string(pattern(i)), strings.ReplaceAll(f, "g", ""))
		if err != nil {
			return nil, err
		}
		s := str(i)
		t, err := re.translation(s)
		if err != nil {
			return nil, err
		}
		with := groupReference.ReplaceAll(replacement(i), []byte("$${$1}"))
		matches := 1
		if strings.Contains(f, "g") {
			matches = -1
		}
		return replaceMatches(dst, s, with, t, matches)
	})
}

// replaceMatches appends s with so many matches replaced, -1 being all.
func replaceMatches(dst, s, with []byte, re *regexp.Regexp, matches int) ([]byte, error) {
	at := 0
	for _, m := range re.FindAllSubmatchIndex(s, matches) {
		dst = append(dst, s[at:m[0]]...)
		dst = re.Expand(dst, with, s, m)
		at = m[1]
		if err := fitsText(len(dst), 0); err != nil {
			return nil, err
		}
	}
	return append(dst, s[at:]...), nil
}

// A regexCache keeps expressions that were compiled for other rows.
type regexCache map[string]*regex

func (c regexCache) compile(pattern, flags string) (*regex, error) {
	key := flags + "\x00" + pattern
	if re, ok := c[key]; ok {
		return re, nil
	}
	re, err := compileRegex(pattern, flags)
	if err != nil {
		return nil, err
	}
	if len(c) == maxPatterns {
		clear(c)
	}
	c[key] = re
	return re, nil
}

// evalRegexpCount counts matches from a character on. It is never NULL: a NULL counts as
// text without a match.
func evalRegexpCount(n *node, args []vec, rows bitset) (vec, error) {
	str, pattern := args[0].texts(), args[1].texts()
	start := func(int) int64 { return 1 }
	if len(args) > 2 {
		start = valuesOf[int64](args[2])
	}
	flags := func(int) []byte { return nil }
	if len(args) > 3 {
		flags = args[3].texts()
	}
	cache := regexCache{}
	out, err := fixedRows(n, args, rows, func(i int) (int64, error) {
		re, err := cache.compile(string(pattern(i)), string(flags(i)))
		if err != nil {
			return 0, err
		}
		from := start(i)
		if from < 1 {
			return 0, errorf(ErrValue, noPos, "regexp_count from %d", from)
		}
		s := str(i)
		t, err := re.translation(s)
		if err != nil || from-1 > int64(utf8.RuneCount(s)) {
			return 0, err
		}
		return int64(len(t.FindAllIndex(s[charOffset(s, from-1):], -1))), nil
	})
	if out.konst && out.isNull(0) {
		out.data = []int64{0}
	}
	out.valid = nil
	return out, err
}

// evalRegexpInstr is the character at which a match begins, the first or that of a number,
// and 0 if there are not so many.
func evalRegexpInstr(n *node, args []vec, rows bitset) (vec, error) {
	str, pattern := args[0].texts(), args[1].texts()
	start, nth := func(int) int64 { return 1 }, func(int) int64 { return 1 }
	if len(args) > 2 {
		start = valuesOf[int64](args[2])
	}
	if len(args) > 3 {
		nth = valuesOf[int64](args[3])
	}
	cache := regexCache{}
	return fixedRows(n, args, rows, func(i int) (int64, error) {
		s, from, which := str(i), start(i), nth(i)
		if len(s) == 0 {
			return 0, nil
		}
		re, err := cache.compile(string(pattern(i)), "")
		if err != nil {
			return 0, err
		}
		if from < 1 || which < 1 {
			return 0, errorf(ErrValue, noPos, "regexp_instr from %d for match %d", from, which)
		}
		t, err := re.translation(s)
		if err != nil || from > int64(utf8.RuneCount(s)) || which > int64(len(s)+1) {
			return 0, err
		}
		begin := charOffset(s, from-1)
		matches := t.FindAllIndex(s[begin:], int(which))
		if int64(len(matches)) < which {
			return 0, nil
		}
		return int64(utf8.RuneCount(s[:begin+matches[which-1][0]])) + 1, nil
	})
}
