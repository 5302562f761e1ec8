package arrowipc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// sumOf returns the sum of the batches of a stream.
func sumOf(t *testing.T, stream []byte) Sum {
	t.Helper()
	r, err := NewReader(context.Background(), bytes.NewReader(stream), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r.SumBatches()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return r.Sum()
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// words makes a stream of batches, each from a JSON array of its values, of one column of texts
// that is a dictionary or not.
func words(t *testing.T, name string, encoded bool, batches ...string) []byte {
	t.Helper()
	var dtype arrow.DataType = arrow.BinaryTypes.String
	if encoded {
		dtype = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: dtype}
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: dtype, Nullable: true}}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	for _, values := range batches {
		column, _, err := array.FromJSON(memory.DefaultAllocator, dtype, strings.NewReader(values))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{column}, int64(column.Len()))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSumOfBatchesDependsOnNoCut(t *testing.T) {
	const a, b, c, empty = `["a"]`, `["b","b"]`, `["c"]`, `[]`
	for _, encoded := range []bool{false, true} {
		part := func(batches ...string) Sum { return sumOf(t, words(t, "w", encoded, batches...)) }
		if encoded { // a dictionary grows within a stream, so all batches have the same one here
			part = func(batches ...string) Sum {
				var total Sum
				for _, one := range batches {
					total = total.Plus(sumOf(t, words(t, "w", true, one)))
				}
				return total
			}
		}
		want := part(a, b, c)
		for name, got := range map[string]Sum{
			"in another order": part(c, a, b), "in two parts": part(a).Plus(part(b, c)), "in three": part(c).Plus(part(a)).Plus(part(b)),
			"with an empty batch": part(a, empty, b, c),
		} {
			if got != want {
				t.Errorf("encoded %v, %s: got another sum", encoded, name)
			}
		}
		for name, got := range map[string]Sum{
			"without a batch": part(a, b), "with one twice": part(a, b, b, c), "with another": part(a, b, `["d"]`),
			"of another column": sumOf(t, words(t, "v", encoded, a, b, c)),
		} {
			if got == want {
				t.Errorf("encoded %v, %s: got the same sum", encoded, name)
			}
		}
	}
}

func TestSumCarries(t *testing.T) {
	var most, one, zero Sum
	for i := range most {
		most[i] = 0xFF
	}
	one[len(one)-1] = 1
	if got := most.Plus(one); got != zero {
		t.Errorf("2^256-1 plus 1: got %x, want zero", got)
	}
	half := Sum{16: 0x80}
	if got, want := half.Plus(half), (Sum{15: 1}); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestReaderHasNotEndedWithoutTheEndMarker(t *testing.T) {
	whole := words(t, "w", false, `["a"]`)
	for cut, want := range map[int]bool{0: true, 8: false} {
		r, err := NewReader(context.Background(), bytes.NewReader(whole[:len(whole)-cut]), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, io.EOF) || r.Ended() != want {
			t.Errorf("%d bytes cut off: got error %v, ended %v; want the end, ended %v", cut, err, r.Ended(), want)
		}
	}
}
