package merge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// manyOf returns rows of a dictionary of the given values, in turns.
func manyOf(rows int, values ...string) arrow.Array {
	indices, texts := array.NewInt32Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range rows {
		indices.Append(int32(i % len(values)))
	}
	texts.AppendValues(values, nil)
	of := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	return array.NewDictionaryArray(of, indices.NewArray(), texts.NewArray())
}

// A key is computed once for each value of a dictionary, and each row still has its own.
func TestKeysAreComputedOnceForEachValueOfADictionary(t *testing.T) {
	const rows = 1000
	of := []arrow.Array{manyOf(rows, "a", "b", "c")}
	calls := 0
	key := onceAValue(of, func(row int) string {
		calls++
		return of[0].ValueStr(row)
	})
	for i := range rows {
		if got, want := key(i), of[0].ValueStr(i); got != want {
			t.Fatalf("row %d: got %s, want %s", i, got, want)
		}
	}
	if calls != 3 {
		t.Errorf("%d keys were computed, want 3", calls)
	}
	found := 0
	k := keys{texts: map[string]int32{string([]byte{1, 0, 0, 0, 'b'}): 7}}
	if err := k.lookUp(t.Context(), of, nil, func(i int, row int32) {
		if found++; i%3 != 1 || row != 7 {
			t.Fatalf("row %d was found as %d", i, row)
		}
	}); err != nil || found != rows/3 {
		t.Errorf("found %d rows, %v; want %d", found, err, rows/3)
	}
}

// Long keys of two columns are read for each row, until the request has no more time.
func TestLookingUpLongKeysEndsWithTheContext(t *testing.T) {
	const rows = 1 << 20
	column := manyOf(rows, strings.Repeat("x", 1<<16)) // 64 GiB of keys
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := new(keys).lookUp(ctx, []arrow.Array{column, column}, nil, func(int, int32) {})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
