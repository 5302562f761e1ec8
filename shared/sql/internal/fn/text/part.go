package text

import (
	"bytes"
	"math"
	"unicode/utf8"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// The functions of this file take strings apart. Positions count characters from 1.

// textPartFunctions are the functions that return a part of a string or its position.
var textPartFunctions = map[string]*expr.Function{
	"substr": {MinArgs: 2, MaxArgs: 3, Bind: expr.Signature(expr.Gives(column.TypeString), expr.AsText, expr.WholeNumber), Eval: evalSubstr},
	"left":   {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.Gives(column.TypeString), expr.CastText, expr.WholeNumber), Eval: evalLeft},
	"right":  {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.Gives(column.TypeString), expr.CastText, expr.WholeNumber), Eval: evalRight},
	"btrim":  {MinArgs: 1, MaxArgs: 2, Bind: expr.Signature(expr.LikeFirst, expr.AsText), Eval: trimmer(true, true)},
	"ltrim":  {MinArgs: 1, MaxArgs: 2, Bind: expr.Signature(expr.LikeFirst, expr.AsText), Eval: trimmer(true, false)},
	"rtrim":  {MinArgs: 1, MaxArgs: 2, Bind: expr.Signature(expr.LikeFirst, expr.AsText), Eval: trimmer(false, true)},
	"split_part": {MinArgs: 3, MaxArgs: 3, Bind: expr.Signature(expr.LikeFirst, expr.AsText, expr.AsText, expr.WholeNumber),
		Eval: evalSplitPart},
	"substr_index": {MinArgs: 3, MaxArgs: 3, Bind: expr.Signature(expr.LikeFirst, expr.CastText, expr.CastText, expr.WholeNumber),
		Eval: evalSubstrIndex},
	"strpos":      {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.LengthOfFirst, expr.AsText), Eval: evalStrpos},
	"find_in_set": {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.LengthOfFirst, expr.CastText), Eval: evalFindInSet},
}

// charOffset returns the byte offset of the character at an index, or len(s) past the end.
func charOffset(s []byte, index int64) int {
	if index >= int64(len(s)) {
		return len(s)
	}
	at := 0
	for ; index > 0 && at < len(s); index-- {
		_, size := utf8.DecodeRune(s[at:])
		at += size
	}
	return at
}

// evalSubstr returns count characters from a position on. Positions before the first character are counted
// as if they existed: substr('abc', -1, 4) is 'ab'.
func evalSubstr(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, start := args[0].Texts(), column.ValuesOf[int64](args[1])
	count := func(int) int64 { return math.MaxInt64 }
	if len(args) == 3 {
		count = column.ValuesOf[int64](args[2])
	}
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		s, first, length := str(i), start(i), count(i)
		if length < 0 {
			return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "substr of a negative number of characters")
		}
		if first == math.MinInt64 {
			return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "substr from the least number")
		}
		first--
		end := int64(math.MaxInt64)
		if first <= 0 || length <= math.MaxInt64-first {
			end = first + length
		}
		from, to := charOffset(s, max(first, 0)), charOffset(s, max(end, 0))
		return append(dst, s[from:max(from, to)]...), nil
	})
}

// evalLeft takes the first characters, or all but the last if the number is negative.
func evalLeft(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, count := args[0].Texts(), column.ValuesOf[int64](args[1])
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		s := str(i)
		return append(dst, s[:charOffset(s, sideCount(s, count(i)))]...), nil
	})
}

// evalRight takes the last characters, or all but the first if the number is negative.
func evalRight(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, count := args[0].Texts(), column.ValuesOf[int64](args[1])
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		s := str(i)
		skip := int64(utf8.RuneCount(s)) - sideCount(s, count(i))
		return append(dst, s[charOffset(s, max(skip, 0)):]...), nil
	})
}

// sideCount returns the number of characters of s that left and right return.
func sideCount(s []byte, count int64) int64 {
	if count >= 0 {
		return count
	}
	return max(int64(utf8.RuneCount(s))+max(count, -math.MaxInt32), 0)
}

// trimmer removes characters, by default blanks, from one end or both.
func trimmer(front, back bool) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		str := args[0].Texts()
		cut := func(int) []byte { return []byte{' '} }
		if len(args) == 2 {
			cut = args[1].Texts()
		}
		set, ready := cutset{translation: translation{m: m}}, false
		return expr.TextRows(m, n, args, rows, func(dst []byte, i int) (_ []byte, err error) {
			if !ready {
				if err := set.use(cut(i)); err != nil {
					return nil, err
				}
				ready = len(args) < 2 || args[1].Const
			}
			s := str(i)
			if front {
				s, err = set.trim(s, utf8.DecodeRune, func(s []byte, size int) []byte { return s[size:] })
			}
			if back && err == nil {
				s, err = set.trim(s, utf8.DecodeLastRune, func(s []byte, size int) []byte { return s[:len(s)-size] })
			}
			return append(dst, s...), err
		})
	}
}

// A cutset holds the characters to trim: a short list for linear search, or else the table of a
// translation.
type cutset struct {
	translation
	few []byte // nil if there are many
}

// fewBytes is the maximal length for which linear search is faster than a table.
const fewBytes = 16

// use makes the set of the characters of a text.
func (c *cutset) use(chars []byte) error {
	if c.few = nil; len(chars) <= fewBytes {
		c.few = append([]byte{}, chars...)
		return nil
	}
	return c.set(chars, nil)
}

func (c *cutset) has(r rune) bool {
	if c.few != nil {
		return bytes.ContainsRune(c.few, r)
	}
	_, ok := c.to[r]
	return ok
}

// trim removes characters of the set from the end of s at which decode reads.
func (c *cutset) trim(s []byte, decode func([]byte) (rune, int), cut func(s []byte, size int) []byte) ([]byte, error) {
	for done := 1; len(s) > 0; done++ {
		r, size := decode(s)
		if !c.has(r) {
			break
		}
		s = cut(s, size)
		if done%watchedChars == 0 {
			if err := c.m.Step(32 * watchedChars); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// evalSplitPart returns a piece between delimiters by its number, which counts from the end if negative, or
// the empty string if there are too few pieces. An empty delimiter does not split.
func evalSplitPart(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, delim, index := args[0].Texts(), args[1].Texts(), column.ValuesOf[int64](args[2])
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		s, sep, at := str(i), delim(i), index(i)
		if at == 0 {
			return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "split_part counts from 1, not 0")
		}
		parts := int64(1)
		if len(sep) > 0 {
			parts += int64(bytes.Count(s, sep))
		}
		if at < 0 {
			at += parts + 1
		}
		if at < 1 || at > parts {
			return dst, nil
		}
		for ; at > 1; at-- {
			_, s, _ = bytes.Cut(s, sep)
		}
		if len(sep) > 0 {
			s, _, _ = bytes.Cut(s, sep)
		}
		return append(dst, s...), nil
	})
}

// evalSubstrIndex returns the text before the delimiter of a number, or, if the number is
// negative and counts from the end, the text behind it. A string with fewer delimiters is
// returned whole.
func evalSubstrIndex(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, delim, index := args[0].Texts(), args[1].Texts(), column.ValuesOf[int64](args[2])
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		s, sep, count := str(i), delim(i), index(i)
		if count == 0 || len(sep) == 0 {
			return dst, nil
		}
		if count > 0 {
			end := 0
			for ; count > 0; count-- {
				at := bytes.Index(s[end:], sep)
				if at < 0 {
					return append(dst, s...), nil
				}
				end += at + len(sep)
			}
			return append(dst, s[:end-len(sep)]...), nil
		}
		start := len(s)
		for ; count < 0; count++ {
			at := bytes.LastIndex(s[:start], sep)
			if at < 0 {
				return append(dst, s...), nil
			}
			start = at
		}
		return append(dst, s[start+len(sep):]...), nil
	})
}

// evalStrpos returns the position of a string in another, or 0 if it does not occur.
func evalStrpos(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, part := args[0].Texts(), args[1].Texts()
	return expr.LengthRows(m, n, args, rows, func(i int) int {
		s := str(i)
		at := bytes.Index(s, part(i))
		if at < 0 {
			return 0
		}
		return utf8.RuneCount(s[:at]) + 1
	})
}

// evalFindInSet returns the position of a string in a comma-separated list, or 0 if it does not occur.
func evalFindInSet(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, set := args[0].Texts(), args[1].Texts()
	return expr.LengthRows(m, n, args, rows, func(i int) int {
		want, rest := str(i), set(i)
		for at, more := 1, len(rest) > 0; more; at++ {
			var word []byte
			if word, rest, more = bytes.Cut(rest, []byte{','}); bytes.Equal(word, want) {
				return at
			}
		}
		return 0
	})
}
