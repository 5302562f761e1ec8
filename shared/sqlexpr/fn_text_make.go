package sqlexpr

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// textMakeFunctions are the functions that make strings of others.
var textMakeFunctions = map[string]*function{
	"concat":    {minArgs: 1, maxArgs: 1000, bind: signature(likeAll, castText), eval: evalConcat},
	"concat_ws": {minArgs: 2, maxArgs: 1000, bind: signature(gives(typeString), castText), eval: evalConcatWS},
	"lpad":      {minArgs: 2, maxArgs: 3, bind: signature(likeFirst, castText, wholeNumber, castText), eval: padder(true)},
	"rpad":      {minArgs: 2, maxArgs: 3, bind: signature(likeFirst, castText, wholeNumber, castText), eval: padder(false)},
	"repeat":    {minArgs: 2, maxArgs: 2, bind: signature(likeFirst, asText, wholeNumber), eval: evalRepeat},
	"replace":   {minArgs: 3, maxArgs: 3, bind: signature(likeWidest, asText), eval: evalReplace},
	"reverse":   {minArgs: 1, maxArgs: 1, bind: signature(likeFirst, castText), eval: evalReverse},
	"initcap":   {minArgs: 1, maxArgs: 1, bind: signature(likeFirst, asText), eval: evalInitcap},
	"translate": {minArgs: 3, maxArgs: 3, bind: signature(likeFirst, castText), eval: evalTranslate},
	"overlay": {minArgs: 3, maxArgs: 4, bind: signature(gives(typeString), castText, castText, wholeNumber),
		eval: evalOverlay},
}

// likeAll has long offsets if all arguments have them.
func likeAll(types []arrow.DataType) arrow.DataType {
	for _, t := range types {
		if !sameType(t, arrow.BinaryTypes.LargeString) {
			return typeString
		}
	}
	return types[0]
}

// evalConcat joins its arguments. NULLs are as if they were not there.
func evalConcat(n *node, args []vec, rows bitset) (vec, error) {
	return joinTexts(n, nil, args, rows)
}

// evalConcatWS joins all but the first argument with the first between them.
func evalConcatWS(n *node, args []vec, rows bitset) (vec, error) {
	return joinTexts(n, args[:1], args[1:], rows)
}

// joinTexts joins what is not NULL. The result is NULL only where the separator is, if there
// is one.
func joinTexts(n *node, sep, args []vec, rows bitset) (vec, error) {
	size, konst := width(append(slices.Clone(sep), args...)...)
	out, live := callRows(n, sep, rows)
	if out.n, out.konst = size, konst; konst {
		live = out.valid
	} else if len(sep) == 1 && sep[0].konst {
		out.valid = sep[0].live(nil, size)
		live = and(rows, out.valid)
	}
	parts := make([]func(int) []byte, len(args))
	for i, a := range args {
		parts[i] = a.texts()
	}
	b := newTextBuilder(size)
	for i := range size {
		if live == nil || live.has(i) {
			first := true
			for j, a := range args {
				if a.isNull(i) {
					continue
				}
				if !first && len(sep) == 1 {
					b.data = append(b.data, sep[0].texts()(i)...)
				}
				first = false
				b.data = append(b.data, parts[j](i)...)
			}
			if err := fitsText(len(b.data), 0); err != nil {
				return vec{}, err
			}
		}
		b.done()
	}
	out.data = b.text()
	return out, nil
}

// padder fills strings up to a number of characters, with blanks if nothing else is given,
// and cuts off longer ones at their end.
func padder(front bool) func(n *node, args []vec, rows bitset) (vec, error) {
	return func(n *node, args []vec, rows bitset) (vec, error) {
		str, length := args[0].texts(), valuesOf[int64](args[1])
		fill := func(int) []byte { return []byte{' '} }
		if len(args) == 3 {
			fill = args[2].texts()
		}
		return textRows(n, args, rows, func(dst []byte, i int) ([]byte, error) {
			s, want, with := str(i), max(length(i), 0), fill(i)
			missing := want - int64(utf8.RuneCount(s))
			if missing <= 0 {
				return append(dst, s[:charOffset(s, want)]...), nil
			}
			if len(with) == 0 {
				return append(dst, s...), nil
			}
			if missing > maxText {
				return nil, fitsText(maxText, 1)
			}
			if !front {
				dst = append(dst, s...)
			}
			for each := int64(utf8.RuneCount(with)); missing > 0; missing -= each {
				dst = append(dst, with[:charOffset(with, missing)]...)
				if err := fitsText(len(dst), 0); err != nil {
					return nil, err
				}
			}
			if front {
				dst = append(dst, s...)
			}
			return dst, nil
		})
	}
}

// evalRepeat makes nothing of numbers below one.
func evalRepeat(n *node, args []vec, rows bitset) (vec, error) {
	str, times := args[0].texts(), valuesOf[int64](args[1])
	return textRows(n, args, rows, func(dst []byte, i int) ([]byte, error) {
		s, count := str(i), times(i)
		if len(s) == 0 || count <= 0 {
			return dst, nil
		}
		if count > int64(maxText/len(s)) {
			return nil, fitsText(maxText, 1)
		}
		if err := fitsText(len(dst), int(count)*len(s)); err != nil {
			return nil, err
		}
		return append(dst, bytes.Repeat(s, int(count))...), nil
	})
}

// evalReplace replaces every occurrence; the empty string occurs around each character.
func evalReplace(n *node, args []vec, rows bitset) (vec, error) {
	str, from, to := args[0].texts(), args[1].texts(), args[2].texts()
	return textRows(n, args, rows, func(dst []byte, i int) ([]byte, error) {
		s, old, with := str(i), from(i), to(i)
		if grow := len(with) - len(old); grow > 0 {
			if err := fitsText(len(dst)+len(s), min(bytes.Count(s, old), maxText/grow+1)*grow); err != nil {
				return nil, err
			}
		}
		return append(dst, bytes.ReplaceAll(s, old, with)...), nil
	})
}

// evalReverse turns the order of characters around.
func evalReverse(n *node, args []vec, rows bitset) (vec, error) {
	str := args[0].texts()
	return textRows(n, args, rows, func(dst []byte, i int) ([]byte, error) {
		for s := str(i); len(s) > 0; {
			_, size := utf8.DecodeLastRune(s)
			dst = append(dst, s[len(s)-size:]...)
			s = s[:len(s)-size]
		}
		return dst, nil
	})
}

// evalInitcap makes the first letter of each word upper case and the others lower case.
// Words are what letters and digits make up.
func evalInitcap(n *node, args []vec, rows bitset) (vec, error) {
	str := args[0].texts()
	return textRows(n, args, rows, func(dst []byte, i int) ([]byte, error) {
		inWord := false
		for s := str(i); len(s) > 0; {
			r, size := utf8.DecodeRune(s)
			if inWord {
				dst = appendLower(dst, s[:size])
			} else {
				dst = appendUpper(dst, s[:size])
			}
			inWord = isAlphanumeric(r)
			s = s[size:]
		}
		return dst, nil
	})
}

// isAlphanumeric is Unicode's properties Alphabetic and Numeric.
func isAlphanumeric(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.In(r, unicode.Other_Alphabetic)
}

// evalTranslate replaces each character of the second argument by the one at the same place
// of the third, and removes those that have none.
func evalTranslate(n *node, args []vec, rows bitset) (vec, error) {
	str, from, to := args[0].texts(), args[1].texts(), args[2].texts()
	return textRows(n, args, rows, func(dst []byte, i int) ([]byte, error) {
		old, with := []rune(string(from(i))), []rune(string(to(i)))
		table := make(map[rune]int, len(old))
		for at, r := range old {
			if _, ok := table[r]; !ok {
				table[r] = at
			}
		}
		for _, r := range string(str(i)) {
			switch at, ok := table[r]; {
			case !ok:
				dst = utf8.AppendRune(dst, r)
			case at < len(with):
				dst = utf8.AppendRune(dst, with[at])
			}
		}
		return dst, nil
	})
}

// evalOverlay puts a string over another from a position on, in the place of as many
// characters as it has or as the fourth argument says.
func evalOverlay(n *node, args []vec, rows bitset) (vec, error) {
	str, over, start := args[0].texts(), args[1].texts(), valuesOf[int64](args[2])
	count := func(i int) int64 { return int64(utf8.RuneCount(over(i))) }
	if len(args) == 4 {
		count = valuesOf[int64](args[3])
	}
	return textRows(n, args, rows, func(dst []byte, i int) ([]byte, error) {
		s, from, length := str(i), start(i), count(i)
		if from < 1 || from > maxText || length < -maxText || length > maxText {
			return nil, errorf(ErrUnsupported, noPos, "overlay from %d for %d characters", from, length)
		}
		dst = append(dst, s[:charOffset(s, from-1)]...)
		dst = append(dst, over(i)...)
		return append(dst, s[charOffset(s, max(from-1+length, 0)):]...), nil
	})
}
