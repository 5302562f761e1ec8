package text

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// textMakeFunctions are the functions that make strings.
var textMakeFunctions = map[string]*expr.Function{
	"concat":    {MinArgs: 1, MaxArgs: 1000, Bind: expr.Signature(likeAll, expr.CastText), Eval: evalConcat},
	"concat_ws": {MinArgs: 2, MaxArgs: 1000, Bind: expr.Signature(expr.Gives(column.TypeString), expr.CastText), Eval: evalConcatWS},
	"lpad":      {MinArgs: 2, MaxArgs: 3, Bind: expr.Signature(expr.LikeFirst, expr.CastText, expr.WholeNumber, expr.CastText), Eval: padder(true)},
	"rpad":      {MinArgs: 2, MaxArgs: 3, Bind: expr.Signature(expr.LikeFirst, expr.CastText, expr.WholeNumber, expr.CastText), Eval: padder(false)},
	"repeat":    {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.LikeFirst, expr.AsText, expr.WholeNumber), Eval: evalRepeat},
	"replace":   {MinArgs: 3, MaxArgs: 3, Bind: expr.Signature(expr.LikeWidest, expr.AsText), Eval: evalReplace},
	"reverse":   {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.LikeFirst, expr.CastText), Eval: evalReverse},
	"initcap":   {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.LikeFirst, expr.AsText), Eval: evalInitcap},
	"translate": {MinArgs: 3, MaxArgs: 3, Bind: expr.Signature(expr.LikeFirst, expr.CastText), Eval: evalTranslate},
	"overlay": {MinArgs: 3, MaxArgs: 4, Bind: expr.Signature(expr.Gives(column.TypeString), expr.CastText, expr.CastText, expr.WholeNumber),
		Eval: evalOverlay},
}

// likeAll returns large_utf8 if all arguments have that type, else utf8.
func likeAll(types []arrow.DataType) arrow.DataType {
	for _, t := range types {
		if !column.SameType(t, arrow.BinaryTypes.LargeString) {
			return column.TypeString
		}
	}
	return types[0]
}

// evalConcat joins its arguments and leaves out NULLs.
func evalConcat(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return joinTexts(m, n, nil, args, rows)
}

// evalConcatWS joins all arguments after the first, which is the separator.
func evalConcatWS(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return joinTexts(m, n, args[:1], args[1:], rows)
}

// joinTexts joins the non-NULL values. The result is NULL only if the separator is NULL.
func joinTexts(m *meter.Meter, n *expr.Node, sep, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, konst := column.Width(append(slices.Clone(sep), args...)...)
	out, live := expr.CallRows(n, sep, rows)
	if out.N, out.Const = size, konst; konst {
		live = out.Valid
	} else if len(sep) == 1 && sep[0].Const {
		out.Valid = sep[0].Live(nil, size)
		live = column.And(rows, out.Valid)
	}
	parts := make([]func(int) []byte, len(args))
	for i, a := range args {
		parts[i] = a.Texts()
	}
	b := column.NewTextBuilder(m, size)
	for i := range size {
		if live == nil || live.Has(i) {
			length := 0
			for j, a := range args {
				if !a.IsNull(i) {
					length += len(parts[j](i))
				}
			}
			if len(sep) == 1 {
				length += len(args) * len(sep[0].Texts()(i))
			}
			if err := b.Reserve(length); err != nil {
				return column.Vec{}, err
			}
			if err := m.Step(16*len(args) + length); err != nil {
				return column.Vec{}, err
			}
			first := true
			for j, a := range args {
				if a.IsNull(i) {
					continue
				}
				if !first && len(sep) == 1 {
					b.Data = append(b.Data, sep[0].Texts()(i)...)
				}
				first = false
				b.Data = append(b.Data, parts[j](i)...)
			}
		}
		b.Done()
	}
	out.Data = b.Text()
	return out, nil
}

// padder pads strings to a number of characters, by default with blanks, and truncates longer ones.
func padder(front bool) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		str, length := args[0].Texts(), column.ValuesOf[int64](args[1])
		fill := func(int) []byte { return []byte{' '} }
		if len(args) == 3 {
			fill = args[2].Texts()
		}
		return expr.BuildTexts(m, n, args, args, rows, func(b *column.TextBuilder, i int) error {
			s, want, with := str(i), max(length(i), 0), fill(i)
			missing := want - int64(utf8.RuneCount(s))
			if missing <= 0 {
				b.Data = append(b.Data, s[:charOffset(s, want)]...)
				return nil
			}
			if len(with) == 0 {
				b.Data = append(b.Data, s...)
				return nil
			}
			each := int64(utf8.RuneCount(with))
			whole, rest := missing/each, with[:charOffset(with, missing%each)]
			if whole > column.MaxText/int64(len(with)) {
				return m.TooMuch("result of more than %d bytes of text", column.MaxText)
			}
			if err := b.Reserve(len(s) + int(whole)*len(with) + len(rest)); err != nil {
				return err
			}
			if !front {
				b.Data = append(b.Data, s...)
			}
			err := repeatText(m, b, with, int(whole))
			b.Data = append(b.Data, rest...)
			if front {
				b.Data = append(b.Data, s...)
			}
			return err
		})
	}
}

// repeatText appends a text the given number of times. The caller has made room for it.
func repeatText(m *meter.Meter, b *column.TextBuilder, s []byte, times int) error {
	for len(s) < repeatBytes && times > 1 { // in pieces, with a check of the context for each
		piece := min(times, repeatBytes/len(s)+1)
		from := len(b.Data)
		for range piece {
			b.Data = append(b.Data, s...)
		}
		whole := times / piece
		times -= whole * piece
		made := b.Data[from:]
		for range whole - 1 {
			b.Data = append(b.Data, made...)
			if err := m.Step(len(made)); err != nil {
				return err
			}
		}
	}
	for range times {
		b.Data = append(b.Data, s...)
		if err := m.Step(len(s)); err != nil {
			return err
		}
	}
	return nil
}

const repeatBytes = 4 << 10

// evalRepeat returns the empty string for counts below one.
func evalRepeat(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, times := args[0].Texts(), column.ValuesOf[int64](args[1])
	return expr.BuildTexts(m, n, args, args, rows, func(b *column.TextBuilder, i int) error {
		s, count := str(i), times(i)
		if len(s) == 0 || count <= 0 {
			return nil
		}
		if count > int64(column.MaxText/len(s)) {
			return m.TooMuch("result of more than %d bytes of text", column.MaxText)
		}
		if err := b.Reserve(int(count) * len(s)); err != nil {
			return err
		}
		return repeatText(m, b, s, int(count))
	})
}

// evalReplace replaces every occurrence; the empty string occurs around each character.
func evalReplace(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, from, to := args[0].Texts(), args[1].Texts(), args[2].Texts()
	return expr.BuildTexts(m, n, args, args, rows, func(b *column.TextBuilder, i int) error {
		s, old, with := str(i), from(i), to(i)
		size := len(s)
		if grow := len(with) - len(old); grow > 0 {
			size += min(bytes.Count(s, old), column.MaxText/grow+1) * grow
		}
		if err := b.Reserve(size); err != nil {
			return err
		}
		return replaceText(m, b, s, old, with)
	})
}

// replaceText appends s with every occurrence of a text replaced. The caller has made room
// for it.
func replaceText(m *meter.Meter, b *column.TextBuilder, s, old, with []byte) error {
	for begin := true; ; begin = false {
		var at int
		switch {
		case len(old) > 0:
			at = bytes.Index(s, old)
		case begin:
		case len(s) == 0:
			at = -1
		default:
			_, at = utf8.DecodeRune(s)
		}
		if at < 0 {
			b.Data = append(b.Data, s...)
			return nil
		}
		b.Data = append(append(b.Data, s[:at]...), with...)
		s = s[at+len(old):]
		if err := m.Step(at + len(with) + 16); err != nil {
			return err
		}
	}
}

// watchedChars is the number of characters between checks of the context.
const watchedChars = 1024

// evalReverse reverses the order of the characters.
func evalReverse(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str := args[0].Texts()
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		for s, done := str(i), 1; len(s) > 0; done++ {
			_, size := utf8.DecodeLastRune(s)
			dst = append(dst, s[len(s)-size:]...)
			s = s[:len(s)-size]
			if done%watchedChars == 0 {
				if err := m.Step(4 * watchedChars); err != nil {
					return nil, err
				}
			}
		}
		return dst, nil
	})
}

// evalInitcap capitalizes each word: its first letter in upper case and the others in lower case. A word is
// a run of letters and digits.
func evalInitcap(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str := args[0].Texts()
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		inWord := false
		for s, done := str(i), 1; len(s) > 0; done++ {
			r, size := utf8.DecodeRune(s)
			if inWord {
				dst = appendLower(dst, s[:size])
			} else {
				dst = appendUpper(dst, s[:size])
			}
			inWord = IsAlphanumeric(r)
			s = s[size:]
			if done%watchedChars == 0 {
				if err := m.Step(32 * watchedChars); err != nil {
					return nil, err
				}
			}
		}
		return dst, nil
	})
}

// IsAlphanumeric is Unicode's properties Alphabetic and Numeric.
func IsAlphanumeric(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.In(r, unicode.Other_Alphabetic)
}

// evalTranslate replaces each character of the second argument by the character at the same position in the
// third, and removes characters without a counterpart.
func evalTranslate(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, from, to := args[0].Texts(), args[1].Texts(), args[2].Texts()
	table := translation{m: m}
	return expr.BuildTexts(m, n, args, args, rows, func(b *column.TextBuilder, i int) error {
		if !args[1].Const || !args[2].Const || table.to == nil {
			if err := table.set(from(i), to(i)); err != nil {
				return err
			}
		}
		return table.append(b, str(i))
	})
}

// A translation maps characters to their replacements.
type translation struct {
	m     *meter.Meter
	to    map[rune]rune // -1: nothing
	taken int
}

// translationBytes is the approximate memory of one character in a translation.
const translationBytes = 40

// set maps each character of old to the character at the same position in with.
func (t *translation) set(old, with []byte) error {
	size := translationBytes * min(len(old), unicode.MaxRune)
	t.m.Give(t.taken)
	if err := t.m.Take(size); err != nil {
		return err
	}
	t.to, t.taken = map[rune]rune{}, size
	for len(old) > 0 {
		r, n := utf8.DecodeRune(old)
		old = old[n:]
		by := rune(-1)
		if len(with) > 0 {
			by, n = utf8.DecodeRune(with)
			with = with[n:]
		}
		if _, ok := t.to[r]; !ok {
			t.to[r] = by
		}
		if err := t.m.Step(32); err != nil {
			return err
		}
	}
	return nil
}

// append appends a text with its characters replaced.
func (t *translation) append(b *column.TextBuilder, s []byte) error {
	if err := b.Reserve(len(s)); err != nil {
		return err
	}
	for done := 0; len(s) > 0; done++ {
		r, n := utf8.DecodeRune(s)
		s = s[n:]
		by, ok := t.to[r]
		if !ok {
			by = r
		}
		if by >= 0 {
			b.Data = utf8.AppendRune(b.Data, by)
		}
		if done%watchedChars == watchedChars-1 {
			if err := t.m.Step(32 * watchedChars); err != nil {
				return err
			}
			if err := b.Account(); err != nil {
				return err
			}
		}
	}
	return nil
}

// evalOverlay replaces a part of a string by another string. The part begins at a position; its length in
// characters is the fourth argument or, by default, the length of the new string.
func evalOverlay(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str, over, start := args[0].Texts(), args[1].Texts(), column.ValuesOf[int64](args[2])
	count := func(i int) int64 { return int64(utf8.RuneCount(over(i))) }
	if len(args) == 4 {
		count = column.ValuesOf[int64](args[3])
	}
	return expr.BuildTexts(m, n, args, args, rows, func(b *column.TextBuilder, i int) error {
		s, from, length := str(i), start(i), count(i)
		if from < 1 || from > column.MaxText || length < -column.MaxText || length > column.MaxText {
			return sql.Errorf(sql.ErrUnsupported, sql.NoPos, "overlay from a place, or of a number of characters, that no text has")
		}
		head, tail := s[:charOffset(s, from-1)], s[charOffset(s, max(from-1+length, 0)):]
		if err := b.Reserve(len(head) + len(over(i)) + len(tail)); err != nil {
			return err
		}
		b.Data = append(append(append(b.Data, head...), over(i)...), tail...)
		return nil
	})
}
