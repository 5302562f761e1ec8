package version20_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/bytedump"
	"tiltyard/shared/lance/internal/encoding/pagetest"
	"tiltyard/shared/lance/internal/encoding/version20"
	"tiltyard/shared/lance/pb"
)

// encodings of version 2.0. For each, testdata has a dump of the smallest page with it in some
// files of native Lance.
var encodings = strings.Fields("ArrayFlat ArrayNullable ArrayFixedSizeList ArrayList ArraySimpleStruct ArrayBinary ArrayDictionary ArrayFSST ArrayPackedStruct")

func TestPagesHaveTheBytesOfTheDumps(t *testing.T) {
	pages := pagetest.Native(t, "../../../datafile", "tiny_some_v20", "tiny_none_v20", "pages_some_v20", "chunks_some_v20")
	for _, name := range encodings {
		t.Run(name, func(t *testing.T) {
			p := pagetest.Smallest(pages, func(p *pagetest.Page) bool {
				enc, names := encodingOf(t, p), map[string]bool{}
				switch enc := enc.(type) {
				case *pb.ArrayNullable:
					if name == "ArrayNullable" && enc.Validity == nil {
						return false
					}
				case *pb.ArrayList:
					if enc.NumItems == 0 {
						return false
					}
				}
				pagetest.CollectNames(names, reflect.ValueOf(enc))
				return names[name]
			})
			if p == nil {
				t.Fatal("no page has the encoding")
			}
			dumpPage(t, p).Compare("testdata/" + name + ".txt")
		})
	}
}

func encodingOf(t *testing.T, p *pagetest.Page) pb.ArrayEncoding {
	t.Helper()
	enc, err := pb.UnmarshalArrayEncoding(p.Page.Encoding.Value)
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

// dumpPage writes the description of a page, its buffers, and the values that are read from them.
func dumpPage(t *testing.T, p *pagetest.Page) *bytedump.Dump {
	t.Helper()
	enc := encodingOf(t, p)
	d := bytedump.New(t)
	d.Text("A page of %d rows of the column %q of %s, of type %s.", p.Page.Length, p.Path.Leaf.Name, p.File, p.Path.Leaf.Type)
	d.Title(p.Page.Encoding.Value, 0, "The description of the page:")
	d.Bytes(len(p.Page.Encoding.Value), "%s", p.Page.Encoding.TypeURL)
	meanings := map[uint32]string{}
	describe(d, meanings, "", "", reflect.ValueOf(&enc).Elem())
	for i, b := range p.Buffers {
		d.Title(b, 0, "Buffer %d:", i)
		d.Bytes(len(b), "%s", meanings[uint32(i)])
	}
	d.End()
	d.Text("\nThe rows:")
	dumpRows(t, d, p, enc)
	return d
}

// describe writes the tree of encodings, and notes the encodings that buffers belong to.
func describe(d *bytedump.Dump, meanings map[uint32]string, indent, name string, v reflect.Value) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	own := strings.TrimPrefix(v.Type().String(), "pb.")
	if name != "" {
		own = name + ": " + own
	}
	line := indent + own
	for i := range v.NumField() {
		switch f := v.Field(i).Interface().(type) {
		case pb.BufferRef:
			line += fmt.Sprintf(" in buffer %d", f.Index)
			meanings[f.Index] = own
		case string:
			if f != "" {
				line += fmt.Sprintf(" %s=%s", v.Type().Field(i).Name, f)
			}
		case uint32, uint64:
			line += fmt.Sprintf(" %s=%v", v.Type().Field(i).Name, f)
		case []byte:
			line += fmt.Sprintf(" %s of %d bytes", v.Type().Field(i).Name, len(f))
		}
	}
	d.Text("  %s", line)
	for i := range v.NumField() {
		field := v.Type().Field(i).Name
		switch f := v.Field(i).Interface().(type) {
		case pb.ArrayEncoding:
			describe(d, meanings, indent+"  ", field, reflect.ValueOf(f))
		case []pb.ArrayEncoding:
			for k, inner := range f {
				describe(d, meanings, indent+"  ", fmt.Sprintf("%s[%d]", field, k), reflect.ValueOf(inner))
			}
		}
	}
}

func dumpRows(t *testing.T, d *bytedump.Dump, p *pagetest.Page, enc pb.ArrayEncoding) {
	t.Helper()
	if _, isStruct := enc.(*pb.ArraySimpleStruct); isStruct {
		d.Text("  the members are other columns")
		return
	}
	rows := int(p.Page.Length)
	all := []encoding.RowRange{{To: rows}}
	r, err := version20.NewPageReader(p.Path.Leaf.Type, enc, p.Info())
	if err != nil {
		t.Fatal(err)
	}
	if _, isList := enc.(*pb.ArrayList); isList {
		lists, err := r.ReadLists(p.Fetch, nil, all)
		if err != nil {
			t.Fatal(err)
		}
		var b version20.ListBuilder
		if err := b.Add(lists); err != nil {
			t.Fatal(err)
		}
		node := b.Finish()
		d.Text("  %d lists, %d null, offsets %v; the items are another column", node.Len, node.Nulls, node.Offsets)
		return
	}
	items, err := r.Read(p.Fetch, nil, all)
	if err != nil {
		t.Fatal(err)
	}
	b := version20.LeafBuilder{Type: p.Path.Leaf.Type}
	b.Add(items)
	values, err := b.Finish(rows)
	if err != nil {
		t.Fatal(err)
	}
	for i := range min(rows, 12) {
		d.Text("  %.70s", shown(values, i))
	}
	if rows > 12 {
		d.Text("  and %d more", rows-12)
	}
}

// shown is a value as text; array.Dictionary writes its index.
func shown(values interface{ ValueStr(i int) string }, i int) string {
	if d, ok := values.(*array.Dictionary); ok && d.IsValid(i) {
		return d.Dictionary().ValueStr(d.GetValueIndex(i))
	}
	return values.ValueStr(i)
}
