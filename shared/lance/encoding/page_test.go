package encoding_test

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
	"tiltyard/shared/lance/internal/encoding/read"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/write"
	"tiltyard/shared/lance/pb"
)

// A pageCase is a field with one leaf and rows of it.
type pageCase struct {
	t     arrow.DataType
	steps []repdef.Step
	leaf  arrow.DataType
	rows  string // as JSON
}

func pageCases() []pageCase {
	list := []repdef.Step{{Kind: repdef.ListStep, Nullable: true}}
	i64, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	vector := arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)
	wide := &arrow.FixedSizeBinaryType{ByteWidth: 300}
	return []pageCase{
		{i64, nil, i64, "[1, null, 3, 4]"},
		{i64, nil, i64, "[7, 7, 7]"},
		{i64, nil, i64, "[null, null]"},
		{i64, nil, i64, "[" + strings.Repeat("1, 2, 3, 70, ", 700) + "5]"},
		{text, nil, text, `["ab", null, "", "cde"]`},
		{text, nil, text, `["` + strings.Repeat("long ", 80) + `", null, "x"]`},
		{text, nil, text, "[" + strings.Repeat(`"red", "green", `, 200) + `"blue"]`},
		{vector, nil, vector, "[[1, 2], null, [3, null]]"},
		{wide, nil, wide, `["` + strings.Repeat("AAAA", 100) + `", null]`},
		{arrow.FixedWidthTypes.Boolean, nil, arrow.FixedWidthTypes.Boolean, "[true, null, false]"},
		{arrow.ListOf(i64), list, i64, "[[1, 2], null, [], [null, 3]]"},
		{arrow.ListOf(text), list, text, `[["` + strings.Repeat("long ", 80) + `", "b"], null, [], [null]]`},
		{arrow.ListOf(i64), list, i64, "[[], null, []]"},
	}
}

// encodePages returns the pages that hold the rows.
func (c pageCase) encodePages(t testing.TB, v lance.Version) (arrow.Array, []encoding.Page) {
	t.Helper()
	rows, _, err := array.FromJSON(memory.DefaultAllocator, c.t, strings.NewReader(c.rows))
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := write.NewColumnEncoder(c.path(), v)
	if err != nil {
		t.Fatal(err)
	}
	var pages []encoding.Page
	emit := func(p encoding.Page) error {
		for i, b := range p.Buffers {
			p.Buffers[i] = slices.Clone(b)
		}
		pages = append(pages, p)
		return nil
	}
	if err := errors.Join(encoder.Append(rows, emit), encoder.Flush(emit)); err != nil {
		t.Fatal(err)
	}
	return rows, pages
}

func (c pageCase) path() repdef.Path {
	return repdef.Path{Steps: c.steps, Leaf: repdef.Leaf{Type: c.leaf, Nullable: true}}
}

// readPage decodes all rows of a page in memory.
func readPage(path *repdef.Path, encoded []byte, buffers [][]byte, rows int) (*read.Column, error) {
	layout, err := pb.UnmarshalLayout(encoded)
	if err != nil {
		return nil, errors.Join(lance.ErrCorrupt, err)
	}
	info := encoding.PageInfo{Rows: rows}
	for _, b := range buffers {
		info.Sizes = append(info.Sizes, len(b))
	}
	r, err := read.NewPageReader(path, layout, info, read.NewBudget(1<<20))
	if err != nil {
		return nil, err
	}
	fetch := func(buffer, from, to int) []byte { return append([]byte{}, buffers[buffer][from:to]...) }
	items, err := r.Read(fetch, nil, []encoding.RowRange{{To: rows}})
	if err != nil {
		return nil, err
	}
	builder := read.NewColumnBuilder(path)
	if err := builder.Add(items); err != nil {
		return nil, err
	}
	return builder.Finish(rows / path.RowItems())
}

func TestPageReaderReadsWhatColumnEncoderWrote(t *testing.T) {
	for _, c := range pageCases() {
		for _, v := range []lance.Version{lance.V2_1, lance.V2_2} {
			rows, pages := c.encodePages(t, v)
			if len(pages) != 1 {
				t.Fatalf("%s: got %d pages, want 1", c.t, len(pages))
			}
			path := c.path()
			got, err := readPage(&path, pages[0].Encoding.Value, pages[0].Buffers, pages[0].Rows)
			if err != nil {
				t.Errorf("%s, version %s: %v", c.t, v, err)
				continue
			}
			if want, ok := rows.(*array.List); ok {
				if diff := slices.Compare(got.Nodes[0].Offsets, want.Offsets()); diff != 0 || got.Nodes[0].Nulls != want.NullN() {
					t.Errorf("%s, version %s: got lists %v with %d nulls, want %v with %d", c.t, v, got.Nodes[0].Offsets, got.Nodes[0].Nulls, want.Offsets(), want.NullN())
				}
				rows = want.ListValues()
			}
			if !array.Equal(got.Leaf, rows) {
				t.Errorf("%s, version %s: got %v, want %v", c.t, v, got.Leaf, rows)
			}
		}
	}
}

func FuzzPageReader(f *testing.F) {
	cases := pageCases()
	for i, c := range cases {
		for _, v := range []lance.Version{lance.V2_1, lance.V2_2} {
			_, pages := c.encodePages(f, v)
			var buffers [4][]byte
			n := copy(buffers[:], pages[0].Buffers)
			f.Add(uint8(i), pages[0].Encoding.Value, uint8(n), buffers[0], buffers[1], buffers[2], buffers[3], uint16(pages[0].Rows))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, layout []byte, n uint8, b0, b1, b2, b3 []byte, rows uint16) {
		path := cases[int(which)%len(cases)].path()
		buffers := [][]byte{b0, b1, b2, b3}[:n%5]
		got, err := readPage(&path, layout, buffers, int(rows))
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("got error %v, want ErrCorrupt or ErrUnsupported", err)
			}
			return
		}
		for i := range got.Leaf.Len() {
			_ = got.Leaf.ValueStr(i) // must lie within its memory
		}
	})
}
