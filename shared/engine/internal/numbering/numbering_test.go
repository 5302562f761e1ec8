package numbering_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/engine/internal/numbering"
)

// columnsOf returns columns of a few different values of each type.
func columnsOf(t *rapid.T, types []arrow.DataType, n int) []arrow.Array {
	columns := make([]arrow.Array, len(types))
	for c, typ := range types {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		for range n {
			v := rapid.IntRange(-1, 300).Draw(t, "value")
			switch b := b.(type) {
			case *array.StringBuilder:
				b.Append(fmt.Sprint(v))
			case *array.Int16Builder:
				b.Append(int16(v))
			case *array.Float64Builder:
				b.Append(float64(v) / 2)
			}
			if v == -1 {
				b.SetNull(b.Len() - 1)
			}
		}
		from := rapid.IntRange(0, n).Draw(t, "from") // so that values have an offset
		columns[c] = array.NewSlice(b.NewArray(), int64(min(from, 3, n)), int64(n))
	}
	return columns
}

// Keys of words and of texts get the numbers that a map gives them, and take no more memory than was foretold.
func TestKeysAreNumberedInTheirOrder(t *testing.T) {
	kinds := [][]arrow.DataType{
		{arrow.PrimitiveTypes.Int16}, {arrow.PrimitiveTypes.Float64}, {arrow.BinaryTypes.String},
		{arrow.PrimitiveTypes.Int16, arrow.BinaryTypes.String}, {},
	}
	rapid.Check(t, func(t *rapid.T) {
		types, nulls := rapid.SampledFrom(kinds).Draw(t, "types"), rapid.Bool().Draw(t, "nulls")
		keys, want := numbering.New(types, nulls), map[string]uint32{}
		var order []string
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			columns, rows := columnsOf(t, types, rapid.IntRange(0, 80).Draw(t, "rows")), 5
			for i, c := range columns {
				if i == 0 || c.Len() < rows {
					rows = c.Len()
				}
			}
			texts, null := make([]string, rows), make([]bool, rows)
			for i := range rows {
				var key []byte
				for c, typ := range types {
					key = sortkey.Of(typ, true)(key, columns[c], i)
					null[i] = null[i] || columns[c].IsNull(i)
				}
				texts[i] = string(key)
			}
			numbers := make([]uint32, rows)
			expect := func(what string) {
				for i, text := range texts {
					number, ok := want[text]
					if !ok || null[i] && !nulls {
						number = numbering.None
					}
					if numbers[i] != number {
						t.Fatalf("%s: row %d with the key %x has the number %d, want %d", what, i, text, numbers[i], number)
					}
				}
			}
			if keys.Find(columns, numbers); rows > 0 {
				expect("found")
			}
			most := keys.Bytes() + keys.Growth(columns, rows)
			keys.Number(columns, numbers)
			for i, text := range texts {
				if _, ok := want[text]; !ok && (nulls || !null[i]) {
					want[text] = uint32(len(order))
					order = append(order, text)
				}
			}
			expect("numbered")
			if keys.Bytes() > most {
				t.Fatalf("%d keys take %d bytes, foretold were %d", keys.Len(), keys.Bytes(), most)
			}
		}
		if keys.Len() != len(order) {
			t.Fatalf("%d keys, want %d", keys.Len(), len(order))
		}
		for i, text := range order {
			if got := keys.Key(nil, i); string(got) != text {
				t.Errorf("key %d is %x, want %x", i, got, text)
			}
		}
	})
}

// Keys whose number of slots grows many times are still found.
func TestManyKeys(t *testing.T) {
	const n = 300_000
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		b.Append(int64(i) << 20)
	}
	words := b.NewArray()
	for _, types := range [][]arrow.DataType{{words.DataType()}, {words.DataType(), words.DataType()}} {
		columns := []arrow.Array{words, words}[:len(types)]
		keys, numbers := numbering.New(types, true), make([]uint32, n)
		keys.Number(columns, numbers)
		keys.Find(columns, numbers)
		for i, number := range numbers {
			if number != uint32(i) {
				t.Fatalf("key %d of %d columns has the number %d", i, len(types), number)
			}
		}
	}
}
