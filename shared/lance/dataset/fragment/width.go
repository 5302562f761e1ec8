package fragment

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/schema"
)

// A width estimates the row width of a fragment from the manifest alone.
type width struct {
	variable float64 // per value of a variable-length column
}

// minVariable is the lowest estimate of a variable-length value, however well its column is
// compressed.
const minVariable = 32

// widthOf divides the file bytes that fixed-width values do not account for evenly among the
// variable-length columns.
func widthOf(s *schema.Schema, fileBytes, rows uint64) width {
	fixed, variable := 0.0, 0
	for _, f := range s.Fields {
		bytes, n := fieldWidth(f.Type)
		fixed += bytes
		variable += n
	}
	w := width{variable: minVariable}
	if rows > 0 && variable > 0 {
		w.variable = max(minVariable, (float64(fileBytes)/float64(rows)-fixed)/float64(variable))
	}
	return w
}

// RowBytes estimates the decoded row size of some columns from the statistics of their files, which
// it opens. A column without a file counts the size of its nulls.
func (f *Fragment) RowBytes(ctx context.Context, fields []*schema.Field) (float64, error) {
	total := 0.0
	held := map[*File][]*schema.Field{}
	for _, field := range fields {
		parts, err := f.parts(field)
		if err != nil {
			return 0, err
		}
		for _, p := range parts {
			held[p.file] = append(held[p.file], p.field)
		}
		if len(parts) == 0 {
			fixed, _ := fieldWidth(field.Type)
			total += fixed
		}
	}
	for file, fields := range held {
		opened, err := file.open(ctx)
		if err != nil {
			return 0, err
		}
		total += opened.BytesPerRow(fields)
	}
	return total, nil
}

// FieldBytes estimates the size of a column's value from the manifest alone.
func (f *Fragment) FieldBytes(field *schema.Field) float64 {
	fixed, variable := fieldWidth(field.Type)
	return fixed + float64(variable)*f.width.variable
}

// Widths sums up the row widths of some fragments, so that the size of a column needs no look at each.
type Widths struct {
	rows     float64
	variable float64 // bytes of one variable-length part in all rows
}

// WidthsOf returns the widths of fragments.
func WidthsOf(fragments []*Fragment) Widths {
	var w Widths
	for _, f := range fragments {
		w.rows += float64(f.Rows)
		w.variable += float64(f.Rows) * f.width.variable
	}
	return w
}

// Bytes estimates the size of a column in all rows, as the sum of Fragment.FieldBytes.
func (w Widths) Bytes(field *schema.Field) float64 {
	fixed, variable := fieldWidth(field.Type)
	return fixed*w.rows + float64(variable)*w.variable
}

// fieldWidth returns the fixed-width bytes of a value and its number of variable-length parts.
func fieldWidth(t arrow.DataType) (fixed float64, variable int) {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		fixed, variable = fieldWidth(t.Elem())
		return fixed * float64(t.Len()), variable
	case *arrow.StructType:
		for _, f := range t.Fields() {
			bytes, n := fieldWidth(f.Type)
			fixed += bytes
			variable += n
		}
		return fixed, variable
	case *arrow.DictionaryType:
		return 4, 0
	case arrow.FixedWidthDataType:
		return float64(t.BitWidth()) / 8, 0
	case *arrow.NullType:
		return 0, 0
	default:
		return 4, 1
	}
}
