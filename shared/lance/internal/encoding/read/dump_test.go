package read_test

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/bytedump"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/pagetest"
	"tiltyard/shared/lance/internal/encoding/read"
	"tiltyard/shared/lance/pb"
)

// encodings of versions 2.1 and 2.2. For each, testdata has a dump of the smallest page with it in
// some files of native Lance.
var encodings = strings.Fields("MiniBlockLayout FullZipLayout ConstantLayout BlobLayout Flat Variable FSST InlineBitpacking " +
	"OutOfLineBitpacking RLE ByteStreamSplit General FixedSizeList PackedStruct VariablePackedStruct Constant")

// forms select further pages of a layout, with more in their buffers.
var forms = map[string]func(l pb.Layout, p *pagetest.Page) bool{
	"MiniBlockLayout-nulls": func(l pb.Layout, _ *pagetest.Page) bool {
		m, ok := l.(*pb.MiniBlockLayout)
		return ok && m.DefCompression != nil
	},
	"MiniBlockLayout-lists": func(l pb.Layout, _ *pagetest.Page) bool {
		m, ok := l.(*pb.MiniBlockLayout)
		return ok && m.RepCompression != nil
	},
	"MiniBlockLayout-dictionary": func(l pb.Layout, _ *pagetest.Page) bool {
		m, ok := l.(*pb.MiniBlockLayout)
		return ok && m.Dictionary != nil
	},
	"FullZipLayout-texts": func(l pb.Layout, _ *pagetest.Page) bool {
		z, ok := l.(*pb.FullZipLayout)
		return ok && z.BitsPerOffset > 0
	},
	"FullZipLayout-lists": func(l pb.Layout, _ *pagetest.Page) bool { z, ok := l.(*pb.FullZipLayout); return ok && z.BitsRep > 0 },
	"ConstantLayout-levels": func(l pb.Layout, p *pagetest.Page) bool {
		_, ok := l.(*pb.ConstantLayout)
		return ok && len(p.Buffers) > 1
	},
	"ConstantLayout-value": func(l pb.Layout, p *pagetest.Page) bool {
		_, ok := l.(*pb.ConstantLayout)
		return ok && len(p.Buffers)%2 == 1
	},
}

func TestPagesHaveTheBytesOfTheDumps(t *testing.T) {
	pages := pagetest.Native(t, "../../../datafile", "tiny_some_v2[12]", "tiny_none_v2[12]", "tiny_all_v2[12]", "pages_some_v2[12]", "chunks_some_v2[12]", "blobs_v21")
	for _, name := range encodings {
		forms[name] = func(l pb.Layout, _ *pagetest.Page) bool {
			names := map[string]bool{}
			pagetest.CollectNames(names, reflect.ValueOf(l))
			return names[name]
		}
	}
	for name, has := range forms {
		t.Run(name, func(t *testing.T) {
			p := pagetest.Smallest(pages, func(p *pagetest.Page) bool { return has(layoutOf(t, p), p) })
			if p == nil {
				t.Fatal("no page has this form")
			}
			dumpPage(t, p).Compare("testdata/" + name + ".txt")
		})
	}
}

func layoutOf(t *testing.T, p *pagetest.Page) pb.Layout {
	t.Helper()
	layout, err := pb.UnmarshalLayout(p.Page.Encoding.Value)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// dumpPage writes the description of a page, its buffers, and the values that are read from them.
func dumpPage(t *testing.T, p *pagetest.Page) *bytedump.Dump {
	t.Helper()
	layout := layoutOf(t, p)
	d := bytedump.New(t)
	d.Text("A page of %d rows of the column %q of %s, of type %s.", p.Page.Length, p.Path.Leaf.Name, p.File, p.Path.Leaf.Type)
	d.Title(p.Page.Encoding.Value, 0, "The description of the page:")
	d.Message(len(p.Page.Encoding.Value), &layout)
	for i, b := range p.Buffers {
		d.Title(b, 0, "Buffer %d:", i)
		dumpBuffer(d, p, layout, i)
	}
	d.End()
	d.Text("\nThe rows:")
	column := readColumn(t, p, layout)
	for _, node := range column.Nodes {
		d.Text("  nested: %d slots, %d null, offsets %v", node.Len, node.Nulls, node.Offsets)
	}
	for i := range min(column.Leaf.Len(), 12) {
		d.Text("  %.70s", column.Leaf.ValueStr(i))
	}
	if more := column.Leaf.Len() - 12; more > 0 {
		d.Text("  and %d more", more)
	}
	return d
}

func readColumn(t *testing.T, p *pagetest.Page, layout pb.Layout) *read.Column {
	t.Helper()
	rows := int(p.Page.Length)
	r, err := read.NewPageReader(&p.Path, layout, p.Info(), read.NewBudget(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	items, err := r.Read(p.Fetch, nil, []encoding.RowRange{{To: rows}})
	if err != nil {
		t.Fatal(err)
	}
	b := read.NewColumnBuilder(&p.Path)
	if err := b.Add(items); err != nil {
		t.Fatal(err)
	}
	column, err := b.Finish(rows / p.Path.RowItems())
	if err != nil {
		t.Fatal(err)
	}
	return column
}

// dumpBuffer writes the meaning of a buffer of a page.
func dumpBuffer(d *bytedump.Dump, p *pagetest.Page, layout pb.Layout, buffer int) {
	switch l := layout.(type) {
	case *pb.BlobLayout:
		dumpBuffer(d, p, l.Inner, buffer)
	case *pb.MiniBlockLayout:
		switch {
		case buffer == 0:
			dumpChunkWords(d, l)
		case buffer == 1:
			dumpChunks(d, p, l)
		case buffer == 2 && l.Dictionary != nil:
			d.Bytes(d.Left(), "%d items of the dictionary, a block of %s", l.NumDictionaryItems, codecName(l.Dictionary))
		default:
			for chunk := 0; d.Left() > 0; chunk++ {
				d.Number(8, "rows that end in chunk %d", chunk)
				d.Number(8, "levels of a row that ends later")
			}
		}
	case *pb.FullZipLayout:
		dumpFullZip(d, p, l, buffer)
	case *pb.ConstantLayout:
		switch {
		case len(p.Buffers)%2 == 1 && buffer == 0:
			dumpConstantValue(d)
		case buffer == len(p.Buffers)-2:
			d.Bytes(d.Left(), "repetition levels, %s", levelsName(l.RepCompression))
		default:
			d.Bytes(d.Left(), "definition levels, %s", levelsName(l.DefCompression))
		}
	}
}

func dumpChunkWords(d *bytedump.Dump, l *pb.MiniBlockLayout) {
	width := 2
	if l.HasLargeChunk {
		width = 4
	}
	for chunk := 0; d.Left() > 0; chunk++ {
		values := ", the rest of the values"
		isLast := d.Left() == width
		word := d.Number(width, "word of chunk %d", chunk)
		if !isLast {
			values = fmt.Sprintf(", 2^%d values", word&15)
		}
		d.Text("%47s%d · 8 bytes%s", "", word>>4+1, values)
	}
}

// dumpChunks writes the chunks, whose sizes the chunk words of the first buffer give.
func dumpChunks(d *bytedump.Dump, p *pagetest.Page, l *pb.MiniBlockLayout) {
	width := 2
	if l.HasLargeChunk {
		width = 4
	}
	for at := 0; at < len(p.Buffers[0]); at += width {
		word := uint64(binary.LittleEndian.Uint16(p.Buffers[0][at:]))
		if width == 4 {
			word = uint64(binary.LittleEndian.Uint32(p.Buffers[0][at:]))
		}
		dumpChunk(d, l, width, int(word>>4+1)*8)
	}
}

func dumpChunk(d *bytedump.Dump, l *pb.MiniBlockLayout, width, size int) {
	end := d.Left() - size
	pad := func() {
		if n := (d.Left() - end) % 8; n > 0 {
			d.Bytes(n, "padding")
		}
	}
	d.Number(2, "levels")
	var names []string
	var sizes []uint64
	if l.RepCompression != nil {
		sizes = append(sizes, d.Number(2, "bytes of repetition levels"))
		names = append(names, "repetition levels, "+levelsName(l.RepCompression))
	}
	if l.DefCompression != nil {
		sizes = append(sizes, d.Number(2, "bytes of definition levels"))
		names = append(names, "definition levels, "+levelsName(l.DefCompression))
	}
	for i := range l.NumBuffers {
		sizes = append(sizes, d.Number(width, "bytes of value buffer %d", i))
		names = append(names, fmt.Sprintf("values %d, %s", i, codecName(l.ValueCompression)))
	}
	for i, name := range names {
		pad()
		d.Bytes(int(sizes[i]), "%s", name)
	}
	if n := d.Left() - end; n > 0 {
		d.Bytes(n, "padding")
	}
}

// dumpFullZip writes the rows by the levels before them, or the index of rows.
func dumpFullZip(d *bytedump.Dump, p *pagetest.Page, l *pb.FullZipLayout, buffer int) {
	if buffer == 1 {
		width := d.Left() / (int(p.Page.Length) + 1)
		for row := 0; d.Left() > width; row++ {
			d.Number(width, "row %d begins", row)
		}
		d.Number(width, "the last row ends")
		return
	}
	control := codec.ControlBytes(int(l.BitsRep + l.BitsDef))
	for entry := uint32(0); entry < l.NumItems; entry++ {
		word := uint64(0)
		if control > 0 {
			word = d.Number(control, "levels of entry %d: repetition and definition", entry)
		}
		def := word & (1<<l.BitsDef - 1)
		switch {
		case l.BitsPerOffset == 0 && hasSlot(l, def):
			d.Bytes(int(l.BitsPerValue/8), "value, %s", codecName(l.ValueCompression))
		case l.BitsPerOffset > 0 && def == 0:
			n := d.Number(int(l.BitsPerOffset/8), "bytes of the value")
			d.Bytes(int(n), "value, %s", codecName(l.ValueCompression))
		}
	}
}

// hasSlot reports whether a value of fixed width follows a definition level: it does unless
// the level means a list that is null or empty.
func hasSlot(l *pb.FullZipLayout, def uint64) bool {
	visible := uint64(0)
	for _, layer := range l.Layers {
		if layer == pb.NullableItem {
			visible++
			continue
		}
		if layer != pb.AllValidItem {
			break
		}
	}
	return l.BitsRep == 0 || def <= visible
}

func dumpConstantValue(d *bytedump.Dump) {
	count := d.Number(4, "buffers of the value")
	var sizes []uint64
	for i := range count {
		sizes = append(sizes, d.Number(4, "bytes of buffer %d", i))
	}
	for i, n := range sizes {
		d.Bytes(int(n), "buffer %d", i)
	}
}

func levelsName(c pb.Codec) string {
	if c == nil {
		return "u16 each"
	}
	return codecName(c)
}

// codecName formats a codec with its inner codecs.
func codecName(c pb.Codec) string {
	v := reflect.ValueOf(c).Elem()
	var inner []string
	for i := range v.NumField() {
		if nested, ok := v.Field(i).Interface().(pb.Codec); ok {
			inner = append(inner, codecName(nested))
		}
	}
	name := v.Type().Name()
	switch c := c.(type) {
	case *pb.Flat:
		name = fmt.Sprintf("Flat of %d bits", c.BitsPerValue)
	case *pb.General:
		name = map[pb.CompressionScheme]string{pb.LZ4: "LZ4", pb.Zstd: "Zstd"}[c.Compression.Scheme]
	}
	if len(inner) > 0 {
		name += " of " + strings.Join(inner, " and ")
	}
	return name
}
