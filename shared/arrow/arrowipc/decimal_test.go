package arrowipc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A decimal has no more digits than the precision of its type, anywhere in a column, unless it is null.
func TestRefusesDecimalsBeyondTheirPrecision(t *testing.T) {
	for _, precision := range []int32{1, 4, 18, 19, 37, 38, 39, 75, 76} {
		bound := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
		most := new(big.Int).Sub(bound, big.NewInt(1))
		for _, c := range []struct {
			value *big.Int
			fits  bool
		}{
			{big.NewInt(0), true}, {most, true}, {new(big.Int).Neg(most), true}, {bound, false}, {new(big.Int).Neg(bound), false},
		} {
			for _, wide := range []bool{false, true} {
				if !wide && precision > 38 {
					continue
				}
				for name, column := range decimalColumns(t, precision, wide, c.value) {
					checkDecimalColumn(t, fmt.Sprintf("%s of %s as %s", name, c.value, column.DataType()), column, c.fits)
				}
			}
		}
	}
	smallest := array.NewDecimal128Data(decimalData(&arrow.Decimal128Type{Precision: 38}, le64(0, math.MinInt64), nil))
	checkDecimalColumn(t, "the smallest number", smallest, false)
	null := array.NewDecimal128Data(decimalData(&arrow.Decimal128Type{Precision: 2}, le64(1000, 0), []byte{0}))
	checkDecimalColumn(t, "under a null", null, true)
}

func decimalData(dtype arrow.DataType, value, valid []byte) *array.Data {
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(value)}
	nulls := 0
	if valid != nil {
		buffers[0], nulls = memory.NewBufferBytes(valid), 1
	}
	return array.NewData(dtype, 1, buffers, nil, nulls, 0)
}

// decimalColumns hold the value by itself and nested.
func decimalColumns(t *testing.T, precision int32, wide bool, value *big.Int) map[string]arrow.Array {
	t.Helper()
	build := func(b array.Builder) {
		switch b := b.(type) {
		case *array.Decimal128Builder:
			b.Append(decimal128.FromBigInt(value))
		case *array.Decimal256Builder:
			b.Append(decimal256.FromBigInt(value))
		}
	}
	var dtype arrow.DataType = &arrow.Decimal128Type{Precision: precision, Scale: 1}
	if wide {
		dtype = &arrow.Decimal256Type{Precision: precision, Scale: 1}
	}
	plain := array.NewBuilder(memory.DefaultAllocator, dtype)
	build(plain)
	list := array.NewListBuilder(memory.DefaultAllocator, dtype)
	list.Append(true)
	build(list.ValueBuilder())
	fixed := array.NewFixedSizeListBuilder(memory.DefaultAllocator, 1, dtype)
	fixed.Append(true)
	build(fixed.ValueBuilder())
	nested := array.NewStructBuilder(memory.DefaultAllocator, arrow.StructOf(arrow.Field{Name: "d", Type: dtype}))
	nested.Append(true)
	build(nested.FieldBuilder(0))
	columns := map[string]arrow.Array{}
	for name, b := range map[string]array.Builder{"a value": plain, "a list": list, "a list of fixed size": fixed, "a struct": nested} {
		columns[name] = b.NewArray()
	}
	return columns
}

func checkDecimalColumn(t *testing.T, name string, column arrow.Array, fits bool) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: column.DataType(), Nullable: true}}, nil)
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(array.NewRecordBatch(schema, []arrow.Array{column}, 1)), w.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, err := readAll(&stream, Limits{})
	if fits && err != nil || !fits && !errors.Is(err, ErrInvalid) {
		t.Errorf("%s: got %v, want it read: %v", name, err, fits)
	}
}
