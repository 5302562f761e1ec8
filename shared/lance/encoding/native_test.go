package encoding_test

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/pagetest"
	"tiltyard/shared/lance/internal/encoding/version20"
	"tiltyard/shared/lance/pb"
)

func nativePages(t testing.TB) []pagetest.Page {
	t.Helper()
	return pagetest.Native(t, "../datafile", "pages_some_v2*", "tiny_none_v2*", "chunks_some_v2*", "blobs_v2*")
}

// readNative decodes all rows of a page.
func readNative(p *pagetest.Page) (arrow.Array, error) {
	rows := int(p.Page.Length)
	if p.Page.Encoding.TypeURL == pb.TypePageLayout {
		column, err := readPage(&p.Path, p.Page.Encoding.Value, p.Buffers, rows)
		if err != nil {
			return nil, err
		}
		return column.Leaf, nil
	}
	enc, err := pb.UnmarshalArrayEncoding(p.Page.Encoding.Value)
	if err != nil {
		return nil, errors.Join(lance.ErrCorrupt, err)
	}
	if _, isStruct := enc.(*pb.ArraySimpleStruct); isStruct {
		return array.NewNull(0), nil // its members have their own columns
	}
	r, err := version20.NewPageReader(p.Path.Leaf.Type, enc, p.Info())
	if err != nil {
		return nil, err
	}
	if _, isList := enc.(*pb.ArrayList); isList {
		_, err := r.ReadLists(p.Fetch, nil, []encoding.RowRange{{To: rows}})
		return array.NewNull(0), err
	}
	items, err := r.Read(p.Fetch, nil, []encoding.RowRange{{To: rows}})
	if err != nil {
		return nil, err
	}
	b := version20.LeafBuilder{Type: p.Path.Leaf.Type}
	b.Add(items)
	return b.Finish(rows)
}

func TestPagesOfNativeFilesAreDecoded(t *testing.T) {
	for _, p := range nativePages(t) {
		if _, err := readNative(&p); err != nil {
			t.Errorf("%s of type %s: %v", p.Path.Leaf.Name, p.Path.Leaf.Type, err)
		}
	}
}

// FuzzNativePage damages pages of every type, version and encoding.
func FuzzNativePage(f *testing.F) {
	pages := nativePages(f)
	for i, p := range pages {
		var buffers [4][]byte
		copy(buffers[:], p.Buffers)
		f.Add(uint16(i), p.Page.Encoding.Value, buffers[0], buffers[1], buffers[2], buffers[3])
	}
	f.Fuzz(func(t *testing.T, which uint16, encoding, b0, b1, b2, b3 []byte) {
		p := pages[int(which)%len(pages)]
		p.Page.Encoding.Value = encoding
		p.Buffers = [][]byte{b0, b1, b2, b3}[:min(4, len(p.Buffers))]
		got, err := readNative(&p)
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
