package sortkey_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/arrow/sortkey"
)

// The result of many small sorted runs equals that of one sort.
func TestSorterEqualsSortingAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batches := rapid.SliceOfN(rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 40), 0, 30), 0, 12).Draw(t, "keys")
		limit := rapid.Int64Range(0, 200).Draw(t, "limit")
		if limit == 0 {
			limit = sortkey.NoLimit
		}
		s := sortkey.NewSorter(context.Background(), limit, rapid.Int64Range(100, 4000).Draw(t, "budget"))
		var want [][]byte
		for _, keys := range batches {
			want = append(want, keys...)
			if err := s.Add(keys); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(want, bytes.Compare)
		want = want[:min(int64(len(want)), limit)]
		var got [][]byte
		for key, err := range s.Sorted() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, bytes.Clone(key))
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Keys that differ early, late, in length, or not at all are sorted as by comparison.
func TestSortingByPrefixesEqualsSortingByComparison(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		common := rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "common")
		key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 7, 255}), 0, 12)
		s := sortkey.NewSorter(context.Background(), sortkey.NoLimit, 1<<20)
		var want [][]byte
		for _, k := range rapid.SliceOfN(key, 250, 400).Draw(t, "keys") {
			want = append(want, append(bytes.Clone(common), k...))
		}
		if err := s.Add(slices.Clone(want)); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, bytes.Compare)
		i := 0
		for got, err := range s.Sorted() {
			if err != nil || !bytes.Equal(got, want[i]) {
				t.Fatalf("key %d is %x, want %x; error %v", i, got, want[i], err)
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%d keys of %d", i, len(want))
		}
	})
}

func TestTextKeysAreInTheOrderOfTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 255}), 0, 6)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		texts, key := binaries(a, b), sortkey.Of(arrow.BinaryTypes.Binary, true)
		keyA, keyB := key(nil, texts, 0), key(nil, texts, 1)
		if got, want := bytes.Compare(keyA, keyB), bytes.Compare(a, b); got != want {
			t.Errorf("keys %x and %x compare %d, their texts %x and %x %d", keyA, keyB, got, a, b, want)
		}
		if bytes.HasPrefix(keyA, keyB) && !bytes.Equal(a, b) {
			t.Errorf("the key of %x begins with that of %x", a, b)
		}
	})
}

// binaries makes an array.
func binaries(values ...[]byte) arrow.Array {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	for _, v := range values {
		b.Append(v)
	}
	return b.NewArray()
}

// The keys of NULLs are short however wide their type is, and hold no memory that a Sorter does not count.
func TestKeysHoldTheirBytesAlone(t *testing.T) {
	const rows = 100
	wide := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: 100_000})
	for range rows {
		wide.AppendNull()
	}
	a := wide.NewArray()
	of := sortkey.Of(a.DataType(), true)
	keys, held := sortkey.Keys(rows, sortkey.Bytes(a), func(block []byte, row int) []byte { return of(block, a, row) })
	if len(keys) != rows || held > 4*rows+rows*sortkey.Overhead {
		t.Errorf("got %d keys in %d bytes", len(keys), held)
	}
	for _, key := range keys {
		if want := of(nil, a, 0); !bytes.Equal(key, want) {
			t.Fatalf("got the key %x, want %x", key, want)
		}
	}
}
