package text

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// textCodeFunctions are the functions between strings, numbers and bytes.
var textCodeFunctions = map[string]*expr.Function{
	"ascii":       {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(arrow.PrimitiveTypes.Int32), expr.AsText), Eval: evalASCII},
	"chr":         {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeString), expr.WholeNumber), Eval: evalChr},
	"bit_length":  {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.LengthOfFirst, expr.AsText), Eval: evalBitLength},
	"to_hex":      {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeString), hexNumber), Eval: evalToHex},
	"levenshtein": {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.LengthOfFirst, expr.AsText), Eval: evalLevenshtein},

	"md5":    {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeString), expr.TextOrBytes), Eval: evalMD5},
	"sha224": {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeBinary), expr.TextOrBytes), Eval: hasher(sha256.New224)},
	"sha256": {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeBinary), expr.TextOrBytes), Eval: hasher(sha256.New)},
	"sha384": {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeBinary), expr.TextOrBytes), Eval: hasher(sha512.New384)},
	"sha512": {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeBinary), expr.TextOrBytes), Eval: hasher(sha512.New)},

	"digest": {MinArgs: 2, MaxArgs: 2, Bind: bindDigest},

	"encode": {MinArgs: 2, MaxArgs: 2, Bind: bindEncode, Eval: evalEncode},
	"decode": {MinArgs: 2, MaxArgs: 2, Bind: bindDecode, Eval: evalDecode},

	"contains_tokens": {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.Gives(column.TypeBool), tokenText), Eval: evalContainsTokens},
}

// evalASCII returns the code of the first character, or 0 for an empty string.
func evalASCII(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str := args[0].Texts()
	return expr.FixedRows(m, n, args, rows, func(i int) (int32, error) {
		s := str(i)
		if len(s) == 0 {
			return 0, nil
		}
		r, _ := utf8.DecodeRune(s)
		return r, nil
	})
}

// evalChr is the character of a code.
func evalChr(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	code := column.ValuesOf[int64](args[0])
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		c := code(i)
		if c < 0 || c > unicode.MaxRune || !utf8.ValidRune(rune(c)) {
			return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "%s is not the code of a character", args[0].Named(c))
		}
		return utf8.AppendRune(dst, rune(c)), nil
	})
}

func evalBitLength(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str := args[0].Texts()
	return expr.LengthRows(m, n, args, rows, func(i int) int { return 8 * len(str(i)) })
}

// hexNumber casts signed integers to int64, so that -1 has sixteen digits, and unsigned ones to uint64.
func hexNumber(t arrow.DataType) arrow.DataType {
	if column.IsUnsigned(t) {
		return column.TypeUint64
	}
	return expr.WholeNumber(t)
}

// evalToHex prints hexadecimal digits, of negative numbers the two's complement.
func evalToHex(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value := func(i int) uint64 { return uint64(column.ValuesOf[int64](args[0])(i)) }
	if args[0].Type.ID() == arrow.UINT64 {
		value = column.ValuesOf[uint64](args[0])
	}
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		return strconv.AppendUint(dst, value(i), 16), nil
	})
}

// evalLevenshtein counts the characters to change, insert or delete.
func evalLevenshtein(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, r := args[0].Texts(), args[1].Texts()
	var err error
	out, rowErr := expr.LengthRows(m, n, args, rows, func(i int) (distance int) {
		if err == nil {
			distance, err = editDistance(m, l(i), r(i))
		}
		return distance
	})
	if err == nil {
		err = rowErr
	}
	return out, err
}

// distanceBytes is the memory that computing the distance of two texts takes for each of
// their bytes.
const distanceBytes = 12

// editDistance returns the Levenshtein distance in characters, with one row of the distance matrix.
func editDistance(m *meter.Meter, s, t []byte) (int, error) {
	size := distanceBytes * (len(s) + len(t))
	if err := m.Take(size); err != nil {
		return 0, err
	}
	defer m.Give(size)
	if len(s) < len(t) {
		s, t = t, s
	}
	a, b := []rune(string(s)), []rune(string(t))
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		if err := m.Step(len(b)); err != nil {
			return 0, err
		}
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			change := diagonal
			if x != y {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)], nil
}

// evalMD5 returns the digest in hexadecimal digits, unlike the SHA functions, which return binaries.
func evalMD5(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value, sum, buf := args[0].Texts(), md5.New(), make([]byte, 0, md5.Size)
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		digest, err := appendSum(m, buf, sum, value(i))
		return hex.AppendEncode(dst, digest), err
	})
}

// hasher appends the bytes of a sum.
func hasher(newHash func() hash.Hash) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		value, sum := args[0].Texts(), newHash()
		return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) { return appendSum(m, dst, sum, value(i)) })
	}
}

func appendSum(m *meter.Meter, dst []byte, sum hash.Hash, s []byte) ([]byte, error) {
	sum.Reset()
	err := m.Pieces(s, func(from, to int) { sum.Write(s[from:to]) })
	return sum.Sum(dst), err
}

// digests maps names to hash functions. Go's standard library lacks blake2b, blake2s and blake3.
var digests = map[string]func() hash.Hash{
	"md5": md5.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// bindDigest takes the name of the sum from a constant.
func bindDigest(n *expr.Node) (*expr.Node, error) {
	if _, err := expr.ConstantName(n, n.Args[1]); err != nil {
		return nil, err
	}
	name := string(n.Args[1].Value.Data.(column.Text).At(0))
	sum := digests[name]
	if sum == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Args[1].Pos, "digest by %q; there are md5, sha224, sha256, sha384 and sha512", name)
	}
	m := n.With(n.Args[0])
	m.Func = &expr.Function{Name: n.Func.Name + " " + name, Bind: n.Func.Bind, Eval: hasher(sum)}
	return expr.Signature(expr.Gives(column.TypeBinary), expr.TextOrBytes)(m)
}

// bindEncode validates the name of the encoding, which must be a constant.
func bindEncode(n *expr.Node) (*expr.Node, error) {
	return bindCoding(n, column.TypeString)
}

func bindDecode(n *expr.Node) (*expr.Node, error) {
	return bindCoding(n, column.TypeBinary)
}

func bindCoding(n *expr.Node, result arrow.DataType) (*expr.Node, error) {
	n, err := expr.Signature(expr.Gives(result), expr.TextOrBytes, expr.AsText)(n)
	if err != nil {
		return nil, err
	}
	if name := n.Args[1]; !expr.IsText(name, "hex") && !expr.IsText(name, "base64") {
		return nil, sql.Errorf(sql.ErrUnsupported, name.Pos, "encodings other than 'hex' and 'base64'")
	}
	return n, nil
}

// evalEncode prints bytes; base64 without padding.
func evalEncode(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value, toHex := args[0].Texts(), expr.IsText(n.Args[1], "hex")
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		if toHex {
			return hex.AppendEncode(dst, value(i)), nil
		}
		return base64.RawStdEncoding.AppendEncode(dst, value(i)), nil
	})
}

// evalDecode reads bytes; base64 with padding or without.
func evalDecode(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value, fromHex := args[0].Texts(), expr.IsText(n.Args[1], "hex")
	return expr.TextRows(m, n, args, rows, func(dst []byte, i int) (_ []byte, err error) {
		if fromHex {
			dst, err = hex.AppendDecode(dst, value(i))
		} else {
			dst, err = base64.RawStdEncoding.AppendDecode(dst, bytes.TrimRight(value(i), "="))
		}
		if err != nil {
			return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "decode of %s that is not in the encoding", args[0].Type)
		}
		return dst, nil
	})
}

// tokenText casts every type that CastText accepts to utf8.
func tokenText(t arrow.DataType) arrow.DataType {
	if expr.CastText(t) == nil {
		return nil
	}
	return column.TypeString
}

// evalContainsTokens tests whether all words of the second argument are words of the first, in any order.
// The second argument must be a constant, because native Lance evaluates only the first row of a column
// there, an arbitrary row of the table.
func evalContainsTokens(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	if !args[1].Const {
		return column.Vec{}, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "contains_tokens with words that are not a constant")
	}
	wanted := map[string]int{} // with the row, counted from 1, in which each word was last found
	var err error
	if !args[1].IsNull(0) {
		err = eachWord(m, args[1].Texts()(0), func(word []byte) error {
			if _, ok := wanted[string(word)]; ok {
				return nil
			}
			wanted[string(word)] = 0
			return m.Take(len(word) + wordBytes)
		})
	}
	if err != nil {
		return column.Vec{}, err
	}
	str := args[0].Texts()
	out, rowErr := expr.BoolRows(m, n, args[:1], nil, func(i int) bool {
		missing := len(wanted)
		if err == nil && missing > 0 {
			err = eachWord(m, str(i), func(word []byte) error {
				if row, ok := wanted[string(word)]; ok && row != i+1 {
					wanted[string(word)] = i + 1
					missing--
				}
				return nil
			})
		}
		return missing == 0
	})
	if err == nil {
		err = rowErr
	}
	return out, err
}

// wordBytes is the approximate memory of a word in a set beside its characters.
const wordBytes = 48

// eachWord calls f for the words of a text: its runs of letters and digits.
func eachWord(m *meter.Meter, s []byte, f func(word []byte) error) error {
	start := -1 // start of the current word, or -1
	for at, done := 0, 1; at <= len(s); done++ {
		r, size := utf8.DecodeRune(s[at:])
		switch inside := size > 0 && IsAlphanumeric(r); {
		case inside && start < 0:
			start = at
		case !inside && start >= 0:
			if err := f(s[start:at]); err != nil {
				return err
			}
			start = -1
		}
		at += max(size, 1)
		if done%watchedChars == 0 {
			if err := m.Step(32 * watchedChars); err != nil {
				return err
			}
		}
	}
	return nil
}
