package dataset

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/schema"
)

// width estimates how wide the rows of a fragment are, from the manifest alone: windows
// are planned before any file is open.
type width struct {
	variable float64 // bytes of each value of variable length
}

// minVariable is the least that a value of variable length is taken to occupy, however
// well its column is compressed.
const minVariable = 32

// widthOf divides what the files hold beyond the values of fixed width among the
// columns of variable length.
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

// bytesPerRow estimates the size of a row of the projected columns.
func (f *fragment) bytesPerRow(p *projection) float64 {
	total := 0.0
	for _, c := range p.columns {
		if c.field == nil {
			total += 8
			continue
		}
		total += f.fieldBytes(c.field)
	}
	return total
}

// fieldBytes estimates the size of a value of one column.
func (f *fragment) fieldBytes(field *schema.Field) float64 {
	fixed, variable := fieldWidth(field.Type)
	return fixed + float64(variable)*f.width.variable
}

// fieldWidth returns the bytes of fixed width in a value, and how many parts of variable
// length it has.
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
