package sqlexpr

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
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// textCodeFunctions are the functions between strings, numbers and bytes.
var textCodeFunctions = map[string]*function{
	"ascii":       {minArgs: 1, maxArgs: 1, bind: signature(gives(arrow.PrimitiveTypes.Int32), asText), eval: evalASCII},
	"chr":         {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeString), wholeNumber), eval: evalChr},
	"bit_length":  {minArgs: 1, maxArgs: 1, bind: signature(lengthOfFirst, asText), eval: evalBitLength},
	"to_hex":      {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeString), hexNumber), eval: evalToHex},
	"levenshtein": {minArgs: 2, maxArgs: 2, bind: signature(lengthOfFirst, asText), eval: evalLevenshtein},

	"md5":    {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeString), textOrBytes), eval: evalMD5},
	"sha224": {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeBinary), textOrBytes), eval: hasher(sha256.New224)},
	"sha256": {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeBinary), textOrBytes), eval: hasher(sha256.New)},
	"sha384": {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeBinary), textOrBytes), eval: hasher(sha512.New384)},
	"sha512": {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeBinary), textOrBytes), eval: hasher(sha512.New)},

	"digest": {minArgs: 2, maxArgs: 2, bind: bindDigest},

	"encode": {minArgs: 2, maxArgs: 2, bind: bindEncode, eval: evalEncode},
	"decode": {minArgs: 2, maxArgs: 2, bind: bindDecode, eval: evalDecode},

	"contains_tokens": {minArgs: 2, maxArgs: 2, bind: signature(gives(column.TypeBool), tokenText), eval: evalContainsTokens},
}

// evalASCII is the code of the first character, 0 if there is none.
func evalASCII(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str := args[0].Texts()
	return fixedRows(m, n, args, rows, func(i int) (int32, error) {
		s := str(i)
		if len(s) == 0 {
			return 0, nil
		}
		r, _ := utf8.DecodeRune(s)
		return r, nil
	})
}

// evalChr is the character of a code.
func evalChr(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	code := column.ValuesOf[int64](args[0])
	return textRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		c := code(i)
		if c < 0 || c > unicode.MaxRune || !utf8.ValidRune(rune(c)) {
			return nil, sql.Errorf(sql.ErrValue, sql.NoPos, "%s is not the code of a character", args[0].Named(c))
		}
		return utf8.AppendRune(dst, rune(c)), nil
	})
}

func evalBitLength(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	str := args[0].Texts()
	return lengthRows(m, n, args, rows, func(i int) int { return 8 * len(str(i)) })
}

// hexNumber takes signed integers as int64, so that -1 has sixteen digits, and unsigned ones
// as uint64.
func hexNumber(t arrow.DataType) arrow.DataType {
	if column.IsUnsigned(t) {
		return column.TypeUint64
	}
	return wholeNumber(t)
}

// evalToHex prints hexadecimal digits, of negative numbers the two's complement.
func evalToHex(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value := func(i int) uint64 { return uint64(column.ValuesOf[int64](args[0])(i)) }
	if args[0].Type.ID() == arrow.UINT64 {
		value = column.ValuesOf[uint64](args[0])
	}
	return textRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		return strconv.AppendUint(dst, value(i), 16), nil
	})
}

// evalLevenshtein counts the characters to change, insert or delete.
func evalLevenshtein(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, r := args[0].Texts(), args[1].Texts()
	var err error
	out, rowErr := lengthRows(m, n, args, rows, func(i int) (distance int) {
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

// distanceBytes is what the distance of two texts takes for each of their bytes.
const distanceBytes = 12

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

// evalMD5 prints the sum in hexadecimal, other than the sums of the SHA family.
func evalMD5(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value, sum, buf := args[0].Texts(), md5.New(), make([]byte, 0, md5.Size)
	return textRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		digest, err := appendSum(m, buf, sum, value(i))
		return hex.AppendEncode(dst, digest), err
	})
}

// hasher appends the bytes of a sum.
func hasher(newHash func() hash.Hash) func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		value, sum := args[0].Texts(), newHash()
		return textRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) { return appendSum(m, dst, sum, value(i)) })
	}
}

func appendSum(m *meter.Meter, dst []byte, sum hash.Hash, s []byte) ([]byte, error) {
	sum.Reset()
	err := m.Pieces(s, func(from, to int) { sum.Write(s[from:to]) })
	return sum.Sum(dst), err
}

// digests are the sums by their names. The others that there are, blake2b, blake2s and
// blake3, are not in Go's library.
var digests = map[string]func() hash.Hash{
	"md5": md5.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// bindDigest takes the name of the sum from a constant.
func bindDigest(n *node) (*node, error) {
	if _, err := constantName(n, n.args[1]); err != nil {
		return nil, err
	}
	name := string(n.args[1].val.Data.(column.Text).At(0))
	sum := digests[name]
	if sum == nil {
		return nil, sql.Errorf(sql.ErrUnsupported, n.args[1].pos, "digest by %q; there are md5, sha224, sha256, sha384 and sha512", name)
	}
	m := n.with(n.args[0])
	m.fn = &function{name: n.fn.name + " " + name, bind: n.fn.bind, eval: hasher(sum)}
	return signature(gives(column.TypeBinary), textOrBytes)(m)
}

// bindEncode looks at the name of the encoding, which must be a constant.
func bindEncode(n *node) (*node, error) {
	return bindCoding(n, column.TypeString)
}

func bindDecode(n *node) (*node, error) {
	return bindCoding(n, column.TypeBinary)
}

func bindCoding(n *node, result arrow.DataType) (*node, error) {
	n, err := signature(gives(result), textOrBytes, asText)(n)
	if err != nil {
		return nil, err
	}
	if name := n.args[1]; !isText(name, "hex") && !isText(name, "base64") {
		return nil, sql.Errorf(sql.ErrUnsupported, name.pos, "encodings other than 'hex' and 'base64'")
	}
	return n, nil
}

// evalEncode prints bytes; base64 without padding.
func evalEncode(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value, toHex := args[0].Texts(), isText(n.args[1], "hex")
	return textRows(m, n, args, rows, func(dst []byte, i int) ([]byte, error) {
		if toHex {
			return hex.AppendEncode(dst, value(i)), nil
		}
		return base64.RawStdEncoding.AppendEncode(dst, value(i)), nil
	})
}

// evalDecode reads bytes; base64 with padding or without.
func evalDecode(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value, fromHex := args[0].Texts(), isText(n.args[1], "hex")
	return textRows(m, n, args, rows, func(dst []byte, i int) (_ []byte, err error) {
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

// tokenText takes everything as strings with short offsets.
func tokenText(t arrow.DataType) arrow.DataType {
	if castText(t) == nil {
		return nil
	}
	return column.TypeString
}

// evalContainsTokens looks whether all words of the second argument are words of the first,
// in any order. Of a column of words the native Lance looks at the first row only, whatever
// row of the table that is, so that the words must be a constant here.
func evalContainsTokens(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	if !args[1].Const {
		return column.Vec{}, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "contains_tokens with words that are not a constant")
	}
	wanted := map[string]int{} // and the row, from 1 on, in which a word was last found
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
	out, rowErr := boolRows(m, n, args[:1], nil, func(i int) bool {
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

// wordBytes is about what a word of a set takes beside its characters.
const wordBytes = 48

// eachWord calls f for the words of a text, which are separated by everything but letters
// and digits.
func eachWord(m *meter.Meter, s []byte, f func(word []byte) error) error {
	start := -1 // of the word, if within one
	for at, done := 0, 1; at <= len(s); done++ {
		r, size := utf8.DecodeRune(s[at:])
		switch inside := size > 0 && isAlphanumeric(r); {
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
