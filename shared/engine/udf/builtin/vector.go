package builtin

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/process/memory"
)

// dimensions is the argument that has the length of a vector.
const dimensions = "dimensions"

// openNormalize opens normalize_l2, which scales a vector to length 1. A zero vector stays unchanged.
func openNormalize(use) (step, error) {
	return func(ctx context.Context, in arrow.Array, row int, out array.Builder) error {
		values, err := vectorAt(in, row)
		if err == nil {
			err = appendVector(ctx, out, values, true)
		}
		return err
	}, nil
}

// openTruncate opens truncate_vector, which returns the first elements of a vector, scaled to length 1 on
// request.
func openTruncate(u use) (step, error) {
	n, given := u.args[dimensions].(int64)
	if fixed, ok := u.output.(*arrow.FixedSizeListType); ok {
		if given && n != int64(fixed.Len()) {
			return nil, fmt.Errorf("has %d dimensions in its output and %d as its argument", fixed.Len(), n)
		}
		n = int64(fixed.Len())
	}
	if n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("takes dimensions from 1 to %d; %d is given", math.MaxInt32, n)
	}
	if fixed, ok := u.input.(*arrow.FixedSizeListType); ok && int64(fixed.Len()) < n {
		return nil, fmt.Errorf("cannot make %d dimensions of vectors with %d", n, fixed.Len())
	}
	unit, _ := u.args["normalize"].(bool)
	return func(ctx context.Context, in arrow.Array, row int, out array.Builder) error {
		values, err := vectorAt(in, row)
		if err == nil && int64(len(values)) < n {
			err = failed("ValueError", "the vector has %d dimensions; %d are wanted", len(values), n)
		}
		if err == nil {
			err = appendVector(ctx, out, values[:n], unit)
		}
		return err
	}, nil
}

// checkVectors requires that the parameter and the output are vectors of float32.
func checkVectors(u use) error {
	for _, typ := range []arrow.DataType{u.input, u.output} {
		list, ok := typ.(arrow.ListLikeType)
		if !ok || typ.ID() == arrow.MAP || list.Elem().ID() != arrow.FLOAT32 {
			return errors.New("takes and returns vectors: list<float32>, large_list<float32> or fixed_size_list<float32, n>")
		}
	}
	return nil
}

// vectorAt returns the values of a vector.
func vectorAt(in arrow.Array, row int) ([]float32, error) {
	if in.IsNull(row) {
		return nil, failed("NullInput", "the vector is null")
	}
	list := in.(array.ListLike) //nolint:forcetypeassert // checkVectors has seen the type
	from, to := list.ValueOffsets(row)
	items := list.ListValues().(*array.Float32) //nolint:forcetypeassert // likewise
	for i := int(from); i < int(to) && items.NullN() > 0; i++ {
		if items.IsNull(i) {
			return nil, failed("NullInput", "the vector has a null")
		}
	}
	return items.Float32Values()[from:to], nil
}

// appendVector appends a vector, divided by its length if unit is true.
func appendVector(ctx context.Context, out array.Builder, values []float32, unit bool) error {
	if fixed, ok := out.Type().(*arrow.FixedSizeListType); ok && int(fixed.Len()) != len(values) {
		return failed("ValueError", "the vector has %d dimensions; %d are declared", len(values), fixed.Len())
	}
	sum := 0.0
	for _, v := range values {
		sum += float64(v) * float64(v)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return failed("ValueError", "the vector has a value that is not finite")
	}
	if err := memory.FromContext(ctx).Take(ctx, int64(4*len(values)+8)); err != nil {
		return err
	}
	list := out.(array.ListLikeBuilder) //nolint:forcetypeassert // checkVectors has seen the type
	list.Append(true)
	items := list.ValueBuilder().(*array.Float32Builder) //nolint:forcetypeassert // likewise
	norm := math.Sqrt(sum)
	if !unit || norm == 0 {
		items.AppendValues(values, nil)
		return nil
	}
	for _, v := range values {
		items.Append(float32(float64(v) / norm))
	}
	return nil
}
