package schema

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
)

// The bounds of a column. Every reader needs memory for at least one row, so the size of a
// value cannot be left to its type alone: native Lance accepts a list of 2,000,000,000
// floats, and then no reader can read the table.
const (
	// MaxColumns is the largest number of columns of a table. Columns and the fields below
	// them together are at most fieldsPerColumn times as many.
	MaxColumns      = 4096
	fieldsPerColumn = 4
	// MaxDepth is the deepest nesting of fields: a column of integers has depth 1, a list
	// of them 2.
	MaxDepth = 32
	// MaxDimensions is the largest number of items in a fixed-size list of floating-point
	// numbers, a vector: 64 KiB of doubles.
	MaxDimensions = 8192
	// MaxValueBytes bounds a fixed-size value of any other kind, such as a small image or a tensor
	// of bytes.
	MaxValueBytes = 1 << 20
	// MaxRowBytes is the largest total size of the values of fixed size in one row.
	MaxRowBytes = 16 << 20
	// MaxMetadataBytes is the largest total size of the keys and values of a table's
	// configuration, metadata, schema metadata and field metadata. Each version repeats
	// them.
	MaxMetadataBytes = 4 << 20
)

// ErrBounds means that a schema or its metadata is too large for a table.
var ErrBounds = fmt.Errorf("%w: beyond the bounds of a table", lance.ErrUnsupported)

func beyond(f arrow.Field, why string) error {
	return fmt.Errorf("%w: field %q of type %s: %s", ErrBounds, f.Name, typeName(f.Type), why)
}

// CheckBounds returns [ErrBounds] for a schema that is too wide or too deep for a new
// table. The error names the field, the limit and the size.
func CheckBounds(fields []arrow.Field) error {
	if len(fields) > MaxColumns {
		return fmt.Errorf("%w: a table of %d columns; at most %d are possible", ErrBounds, len(fields), MaxColumns)
	}
	row, count := float64(0), 0
	for _, f := range fields {
		bytes, err := checkField(f, "", 1, &count)
		if err != nil {
			return err
		}
		row += bytes
	}
	if row > MaxRowBytes {
		return fmt.Errorf("%w: the values of fixed size take %.0f bytes in each row; at most %d are possible", ErrBounds, row, MaxRowBytes)
	}
	return nil
}

// checkField returns the bytes of fixed size in a value of a field, in floating point,
// which does not overflow.
func checkField(f arrow.Field, path string, depth int, count *int) (float64, error) {
	if extension, ok := f.Type.(arrow.ExtensionType); ok {
		f.Type = extension.StorageType()
	}
	f.Name = join(path, f.Name)
	if *count++; *count > fieldsPerColumn*MaxColumns {
		return 0, fmt.Errorf("%w: more than %d fields with those that are nested", ErrBounds, fieldsPerColumn*MaxColumns)
	}
	if depth > MaxDepth {
		return 0, beyond(f, fmt.Sprintf("nested more than %d deep", MaxDepth))
	}
	switch t := f.Type.(type) {
	case *arrow.DictionaryType:
		return 8, nil
	case *arrow.FixedSizeListType:
		return checkList(f, t, depth, count)
	case arrow.NestedType:
		total := float64(0)
		for _, child := range t.Fields() {
			bytes, err := checkField(child, f.Name, depth+1, count)
			if err != nil {
				return 0, err
			}
			total += bytes
		}
		return total, nil
	case *arrow.FixedSizeBinaryType:
		if t.ByteWidth > MaxValueBytes {
			return 0, beyond(f, fmt.Sprintf("a value takes %d bytes; at most %d are possible", t.ByteWidth, MaxValueBytes))
		}
		return float64(t.ByteWidth), nil
	case arrow.FixedWidthDataType:
		return float64(t.BitWidth()) / 8, nil
	}
	return 0, nil
}

// checkList returns the bytes of a fixed-size list value and checks its dimensions against the
// bounds.
func checkList(f arrow.Field, t *arrow.FixedSizeListType, depth int, count *int) (float64, error) {
	item, err := checkField(t.ElemField(), f.Name, depth+1, count)
	if err != nil {
		return 0, err
	}
	items, of := float64(t.Len()), t.Elem()
	for inner, ok := of.(*arrow.FixedSizeListType); ok; inner, ok = of.(*arrow.FixedSizeListType) {
		items, of = items*float64(inner.Len()), inner.Elem()
	}
	if arrow.IsFloating(of.ID()) && items > MaxDimensions {
		return 0, beyond(f, fmt.Sprintf("a vector of %.0f dimensions; at most %d are possible", items, MaxDimensions))
	}
	// Nulls and empty structs take no bytes, but walks over a value take as long.
	if bytes := max(item, 1.0/8) * float64(t.Len()); bytes > MaxValueBytes {
		return 0, beyond(f, fmt.Sprintf("a value takes %.0f bytes; at most %d are possible", bytes, MaxValueBytes))
	}
	return item * float64(t.Len()), nil
}

// MetadataBytes is the size of the keys and values of the schema's metadata and of its fields'.
func (s *Schema) MetadataBytes() int {
	total := sizeOf(s.Metadata)
	for f := range s.All() {
		total += sizeOf(f.Metadata)
	}
	return total
}

// sizeOf returns the bytes of keys and values.
func sizeOf(metadata map[string]string) (bytes int) {
	for key, value := range metadata {
		bytes += len(key) + len(value)
	}
	return bytes
}
