// Package numbering gives each different key of rows a number: 0, 1, 2 … in the order in which the keys come. Groups and
// joins keep what they know of a key in arrays by its number.
//
// A key is one value or more, as package sortkey writes them. A key of one number of at most 8 bytes is kept as a word.
package numbering

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/sortkey"
)

// None is the number of a row that has no known key.
const None = math.MaxUint32

// Keys numbers the different keys of rows. It is not safe for concurrent use.
type Keys struct {
	write []sortkey.Append
	nulls bool
	width int      // bytes of a key that is a word
	words *words   // nil: the keys are texts
	texts *texts   // nil: the keys are words
	space []uint64 // for the words of some rows
	key   []byte   // for the key of a row
	null  uint32   // number of NULL among words
	n     int
}

// New returns no keys yet. They have a value of each type, of which package sortkey must have keys. Nulls tells whether
// NULL is a value as others are; if not, a row with a NULL has no key.
func New(types []arrow.DataType, nulls bool) *Keys {
	k := &Keys{nulls: nulls, null: None}
	for _, t := range types {
		k.write = append(k.write, sortkey.Of(t, true))
	}
	if len(types) == 1 && sortkey.HavePairs(types[0]) {
		k.words, k.width = newWords(), types[0].(arrow.FixedWidthDataType).Bytes()
	} else {
		k.texts = newTexts()
	}
	return k
}

// Len returns how many different keys there are.
func (k *Keys) Len() int { return k.n }

// Bytes returns the memory that the keys take.
func (k *Keys) Bytes() int64 {
	if k.words != nil {
		return k.words.bytes()
	}
	return k.texts.bytes()
}

// Growth bounds the additional memory that the next rows may take while they are numbered.
func (k *Keys) Growth(columns []arrow.Array, rows int) int64 {
	if k.words != nil {
		return k.words.growth(rows)
	}
	size := 0
	for _, c := range columns {
		size += int(sortkey.Bytes(c))
	}
	return k.texts.growth(rows, size)
}

// Number sets the numbers of the first len(numbers) rows. A new key gets the next number.
func (k *Keys) Number(columns []arrow.Array, numbers []uint32) { k.look(columns, numbers, true) }

// Find sets the numbers of the first len(numbers) rows: None for a key that has no number.
func (k *Keys) Find(columns []arrow.Array, numbers []uint32) { k.look(columns, numbers, false) }

func (k *Keys) look(columns []arrow.Array, numbers []uint32, add bool) {
	if k.words != nil {
		k.lookWords(columns[0], numbers, add)
		return
	}
	if len(columns) == 0 && len(numbers) > 0 { // all rows have one key
		only := k.texts.number(nil, add)
		for i := range numbers {
			numbers[i] = only
		}
		k.n = k.texts.len()
		return
	}
	for i := range numbers {
		numbers[i] = None
		if !k.nulls && anyNull(columns, i) {
			continue
		}
		k.key = k.key[:0]
		for c, write := range k.write {
			k.key = write(k.key, columns[c], i)
		}
		numbers[i] = k.texts.number(k.key, add)
	}
	k.n = k.texts.len()
}

func anyNull(columns []arrow.Array, i int) bool {
	for _, c := range columns {
		if c.IsNull(i) {
			return true
		}
	}
	return false
}

func (k *Keys) lookWords(column arrow.Array, numbers []uint32, add bool) {
	k.space = sortkey.Words(k.space[:0], column, len(numbers))
	if column.NullN() == 0 {
		k.words.numbers(k.space, numbers, add)
		k.n = k.words.len()
		return
	}
	for i := range numbers {
		switch {
		case column.IsValid(i):
			k.words.numbers(k.space[i:i+1], numbers[i:i+1], add)
		case !k.nulls:
			numbers[i] = None
		default:
			if k.null == None && add {
				k.null = k.words.skip()
			}
			numbers[i] = k.null
		}
	}
	k.n = k.words.len()
}

// Key appends the key with a number, as package sortkey writes it.
func (k *Keys) Key(key []byte, number int) []byte {
	switch {
	case k.words == nil:
		return append(key, k.texts.at(number)...)
	case uint32(number) == k.null:
		return sortkey.AppendNull(key)
	}
	return sortkey.AppendWord(key, k.words.of[number], k.width)
}
