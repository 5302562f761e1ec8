package encoding

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A nativePage is a page of a file that native Lance wrote.
type nativePage struct {
	path    Path
	page    pb.Page
	buffers [][]byte
}

// nativePages returns the first page of each column of data files that the tests of
// package datafile read.
func nativePages(t testing.TB) []nativePage {
	t.Helper()
	var pages []nativePage
	for _, pattern := range []string{"pages_some_v2*", "tiny_none_v2*", "chunks_some_v2*", "blobs_v2*"} {
		files, err := filepath.Glob("../datafile/testdata/matrix/" + pattern + ".lance")
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, columnPages(t, data)...)
		}
	}
	return pages
}

func columnPages(t testing.TB, data []byte) []nativePage {
	t.Helper()
	footer := data[len(data)-40:]
	columns, globals := binary.LittleEndian.Uint64(footer[8:]), binary.LittleEndian.Uint64(footer[16:])
	entry := func(table uint64, i int) []byte {
		at := data[table+16*uint64(i):]
		from := binary.LittleEndian.Uint64(at)
		return data[from : from+binary.LittleEndian.Uint64(at[8:])]
	}
	var d pb.FileDescriptor
	if err := d.Unmarshal(entry(globals, 0)); err != nil {
		t.Fatal(err)
	}
	s, err := schema.FromFields(d.Fields, d.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	s = s.Described()
	var paths []Path
	for _, f := range s.Fields {
		paths = appendPaths(paths, f, nil, binary.LittleEndian.Uint16(footer[32:]) == 0)
	}
	var pages []nativePage
	for i, path := range paths {
		var m pb.ColumnMetadata
		if err := m.Unmarshal(entry(columns, i)); err != nil {
			t.Fatal(err)
		}
		p := nativePage{path: path, page: m.Pages[0]}
		for k, from := range p.page.BufferOffsets {
			p.buffers = append(p.buffers, data[from:from+p.page.BufferSizes[k]])
		}
		pages = append(pages, p)
	}
	return pages
}

// appendPaths appends the paths of the columns of a field: of its leaves, or, in version
// 2.0, of all fields.
func appendPaths(paths []Path, f *schema.Field, above []Step, everyField bool) []Path {
	if everyField || f.IsLeaf() {
		paths = append(paths, Path{Steps: above, Leaf: Leaf{Type: f.Type, Name: f.Name, Nullable: f.Nullable}})
	}
	if f.IsLeaf() {
		return paths
	}
	step := Step{Kind: ListStep, Name: f.Name, Nullable: f.Nullable}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		step.Kind = StructStep
	case *arrow.FixedSizeListType:
		step.Kind, step.Size = FixedListStep, int(t.Len())
	}
	for i, child := range f.Children {
		step.Child, step.Member = i, child.Name
		paths = appendPaths(paths, child, append(above[:len(above):len(above)], step), everyField)
	}
	return paths
}

// read decodes all rows of the page.
func (p *nativePage) read() (arrow.Array, error) {
	rows := int(p.page.Length)
	if p.page.Encoding.TypeURL == pb.TypePageLayout {
		column, err := readPage(&p.path, p.page.Encoding.Value, p.buffers, rows)
		if err != nil {
			return nil, err
		}
		return column.Leaf, nil
	}
	enc, err := pb.UnmarshalArrayEncoding(p.page.Encoding.Value)
	if err != nil {
		return nil, errors.Join(lance.ErrCorrupt, err)
	}
	if _, isStruct := enc.(*pb.ArraySimpleStruct); isStruct {
		return array.NewNull(0), nil // its members are other columns
	}
	info := PageInfo{Rows: rows}
	for _, b := range p.buffers {
		info.Sizes = append(info.Sizes, len(b))
	}
	r, err := NewPageReaderV20(p.path.Leaf.Type, enc, info)
	if err != nil {
		return nil, err
	}
	fetch := func(buffer, from, to int) []byte { return append([]byte{}, p.buffers[buffer][from:to]...) }
	if _, isList := enc.(*pb.ArrayList); isList {
		_, err := r.ReadLists(fetch, nil, []RowRange{{0, rows}})
		return array.NewNull(0), err
	}
	items, err := r.Read(fetch, nil, []RowRange{{0, rows}})
	if err != nil {
		return nil, err
	}
	b := LeafBuilderV20{Type: p.path.Leaf.Type}
	b.Add(items)
	return b.Finish(rows)
}

func TestPagesOfNativeFilesAreDecoded(t *testing.T) {
	for _, p := range nativePages(t) {
		if _, err := p.read(); err != nil {
			t.Errorf("%s of type %s: %v", p.path.Leaf.Name, p.path.Leaf.Type, err)
		}
	}
}

// FuzzNativePage damages pages of every type, version and encoding.
func FuzzNativePage(f *testing.F) {
	pages := nativePages(f)
	for i, p := range pages {
		var buffers [4][]byte
		copy(buffers[:], p.buffers)
		f.Add(uint16(i), p.page.Encoding.Value, buffers[0], buffers[1], buffers[2], buffers[3])
	}
	f.Fuzz(func(t *testing.T, which uint16, encoding, b0, b1, b2, b3 []byte) {
		p := pages[int(which)%len(pages)]
		p.page.Encoding.Value = encoding
		p.buffers = [][]byte{b0, b1, b2, b3}[:min(4, len(p.buffers))]
		got, err := p.read()
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("got error %v, want ErrCorrupt or ErrUnsupported", err)
			}
			return
		}
		for i := range got.Len() {
			_ = got.ValueStr(i) // must lie within its memory
		}
	})
}
