package evolution

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/process/memory"
)

// Rows whose texts are too large for one array are refused as too much memory, so that fewer of them are cast next.
func TestCastsOfManyLongValuesAreDivided(t *testing.T) {
	b := array.NewDictionaryBuilder(arrowmemory.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
	value := strings.Repeat("x", 1<<20)
	for range 300 {
		if err := b.AppendString(value); err != nil {
			t.Fatal(err)
		}
	}
	all := b.NewDictionaryArray()
	share := memory.NewBudget(4<<30, 4<<30).Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	if _, err := convert(ctx, all, arrow.BinaryTypes.String); !memory.TooMuch(err) {
		t.Errorf("300 MiB: got %v, want a refusal of memory", err)
	}
	some, err := convert(ctx, array.NewSlice(all, 0, 2), arrow.BinaryTypes.String)
	if err != nil || some.Len() != 2 || some.ValueStr(1) != value {
		t.Errorf("2 MiB: got %v", err)
	}
}
