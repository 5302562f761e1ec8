package version20_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/version20"
	"tiltyard/shared/lance/pb"
)

// encode returns the pages of rows in JSON.
func encode(t *testing.T, leaf repdef.Leaf, rows string) (arrow.Array, []encoding.Page) {
	t.Helper()
	values, _, err := array.FromJSON(memory.DefaultAllocator, leaf.Type, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := version20.NewColumnEncoder(repdef.Path{Leaf: leaf})
	if err != nil {
		t.Fatal(err)
	}
	var pages []encoding.Page
	emit := func(p encoding.Page) error {
		buffers := make([][]byte, len(p.Buffers))
		for i, b := range p.Buffers {
			buffers[i] = slices.Clone(b)
		}
		p.Buffers = buffers
		pages = append(pages, p)
		return nil
	}
	half := int64(values.Len() / 2) // pages do not depend on how rows are cut into arrays
	for _, part := range []arrow.Array{array.NewSlice(values, 0, half), array.NewSlice(values, half, int64(values.Len()))} {
		if err := encoder.Append(part, emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := encoder.Flush(emit); err != nil {
		t.Fatal(err)
	}
	return values, pages
}

func TestReadsWhatWasEncoded(t *testing.T) {
	many := "[" + strings.Repeat(`"the first", "the second", null, `, 900) + `"the last"]`
	for _, c := range []struct {
		name string
		leaf repdef.Leaf
		rows string
	}{
		{"numbers", repdef.Leaf{Type: arrow.PrimitiveTypes.Int64, Nullable: true}, "[1, null, -3]"},
		{"no nulls", repdef.Leaf{Type: arrow.PrimitiveTypes.Uint16}, "[1, 2, 65535]"},
		{"nothing but nulls", repdef.Leaf{Type: arrow.PrimitiveTypes.Float32, Nullable: true}, "[null, null]"},
		{"bools", repdef.Leaf{Type: arrow.FixedWidthTypes.Boolean, Nullable: true}, "[true, null, false, true]"},
		{"texts", repdef.Leaf{Type: arrow.BinaryTypes.String, Nullable: true}, `["ab", null, "", "cde"]`},
		{"many texts", repdef.Leaf{Type: arrow.BinaryTypes.String, Nullable: true}, many},
		{"long texts", repdef.Leaf{Type: arrow.BinaryTypes.LargeString, Nullable: true}, `["` + strings.Repeat("long ", 1000) + `", null]`},
		{"vectors", repdef.Leaf{Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true}, "[[1, 2], null, [3, null]]"},
		{"bytes of one length", repdef.Leaf{Type: &arrow.FixedSizeBinaryType{ByteWidth: 3}, Nullable: true}, `["YWJj", null]`},
		{"packed structs", repdef.Leaf{Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int8}), Packed: true},
			`[{"a": 1, "b": 2}, {"a": -3, "b": 4}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, pages := encode(t, c.leaf, c.rows)
			if len(pages) != 1 || pages[0].Rows != want.Len() {
				t.Fatalf("got %d pages, the first of %d rows; want 1 of %d", len(pages), pages[0].Rows, want.Len())
			}
			page := pages[0]
			enc, err := pb.UnmarshalArrayEncoding(page.Encoding.Value)
			if err != nil {
				t.Fatal(err)
			}
			info := encoding.PageInfo{Rows: page.Rows}
			for _, b := range page.Buffers {
				info.Sizes = append(info.Sizes, len(b))
			}
			r, err := version20.NewPageReader(c.leaf.Type, enc, info)
			if err != nil {
				t.Fatal(err)
			}
			fetch := func(buffer, from, to int) []byte { return append([]byte{}, page.Buffers[buffer][from:to]...) }
			// All rows, and without the one in the middle.
			middle := page.Rows / 2
			for _, rows := range [][]encoding.RowRange{{{To: page.Rows}}, {{To: middle}, {From: middle + 1, To: page.Rows}}} {
				items, err := r.Read(fetch, nil, rows)
				if err != nil {
					t.Fatal(err)
				}
				b := version20.LeafBuilder{Type: c.leaf.Type}
				b.Add(items)
				got, err := b.Finish(encoding.CountRows(rows))
				if err != nil {
					t.Fatal(err)
				}
				var parts []arrow.Array
				for _, span := range rows {
					parts = append(parts, array.NewSlice(want, int64(span.From), int64(span.To)))
				}
				asked, err := array.Concatenate(parts, memory.DefaultAllocator)
				if err != nil {
					t.Fatal(err)
				}
				if !array.Equal(got, asked) {
					t.Errorf("rows %v: got %v, want %v", rows, got, asked)
				}
			}
		})
	}
}

func TestRefusesWhatTheVersionCannotHold(t *testing.T) {
	packed := arrow.StructOf(arrow.Field{Name: "text", Type: arrow.BinaryTypes.String})
	for _, leaf := range []repdef.Leaf{{Name: "c", Type: packed, Packed: true}, {Name: "c", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8)}} {
		if _, err := version20.NewColumnEncoder(repdef.Path{Leaf: leaf}); !errors.Is(err, lance.ErrUnsupported) || !strings.Contains(err.Error(), `"c"`) {
			t.Errorf("%s: got error %v, want ErrUnsupported that names the field", leaf.Type, err)
		}
	}
}
