package inspect

import (
	"fmt"
	"strings"

	"tiltyard/shared/lance/pb"
)

// An encoding is shown in one line, values first:
//
//	mini-block: bitpacked 64; layers item?; def rle(flat 16, flat 8)
//	full-zip: list of 512 flat 32; layers item
//	constant: inline; layers item?
//	nullable(flat 64 @1, flat 1 @0)                a page of version 2.0, with its buffers
//
// A question mark after a layer means that it may be null, a zero that lists may be empty.

var layerNames = [...]string{
	pb.AllValidItem: "item", pb.AllValidList: "list", pb.NullableItem: "item?",
	pb.NullableList: "list?", pb.EmptyableList: "list0", pb.NullAndEmptyList: "list?0",
}

// pageEncoding returns the text of a page's encoding, or the reason why it is unknown.
func pageEncoding(e pb.Any) string {
	switch e.TypeURL {
	case pb.TypePageLayout:
		layout, err := pb.UnmarshalLayout(e.Value)
		if err != nil {
			return fmt.Sprintf("damaged: %v", err)
		}
		return layoutText(layout)
	case pb.TypeArrayEncoding:
		array, err := pb.UnmarshalArrayEncoding(e.Value)
		if err != nil {
			return fmt.Sprintf("damaged: %v", err)
		}
		return arrayText(array)
	}
	return "unknown encoding " + shown(e.TypeURL)
}

// layoutText returns the text of the layout of a page of version 2.1 or 2.2.
func layoutText(l pb.Layout) string {
	switch l := l.(type) {
	case *pb.MiniBlockLayout:
		parts := []string{codecText(l.ValueCompression), "layers " + layers(l.Layers)}
		parts = appendLevels(parts, l.RepCompression, l.DefCompression)
		if l.Dictionary != nil {
			parts = append(parts, fmt.Sprintf("dictionary of %d %s", l.NumDictionaryItems, codecText(l.Dictionary)))
		}
		return "mini-block: " + strings.Join(parts, "; ")
	case *pb.FullZipLayout:
		return fmt.Sprintf("full-zip: %s; layers %s", codecText(l.ValueCompression), layers(l.Layers))
	case *pb.ConstantLayout:
		value := "no inline value"
		if l.InlineValue != nil {
			value = fmt.Sprintf("inline value of %d bytes", len(l.InlineValue))
		}
		parts := appendLevels([]string{value, "layers " + layers(l.Layers)}, l.RepCompression, l.DefCompression)
		return "constant: " + strings.Join(parts, "; ")
	case *pb.BlobLayout:
		return fmt.Sprintf("blob: layers %s; descriptions %s", layers(l.Layers), layoutText(l.Inner))
	}
	return "unknown layout"
}

func appendLevels(parts []string, rep, def pb.Codec) []string {
	if rep != nil {
		parts = append(parts, "rep "+codecText(rep))
	}
	if def != nil {
		parts = append(parts, "def "+codecText(def))
	}
	return parts
}

// layers returns the names of the layers of a nested type, innermost first.
func layers(all []pb.RepDefLayer) string {
	names := make([]string, len(all))
	for i, l := range all {
		if names[i] = fmt.Sprintf("layer %d", l); int(l) < len(layerNames) && layerNames[l] != "" {
			names[i] = layerNames[l]
		}
	}
	return strings.Join(names, "/")
}

// codecText returns the text of the encoding of values.
func codecText(c pb.Codec) string {
	switch c := c.(type) {
	case nil:
		return "nothing"
	case *pb.Flat:
		return fmt.Sprintf("flat %d", c.BitsPerValue)
	case *pb.Variable:
		return "variable(" + codecText(c.Offsets) + ")"
	case *pb.Constant:
		return "constant"
	case *pb.OutOfLineBitpacking:
		return fmt.Sprintf("bitpacked %d in %s", c.UncompressedBits, codecText(c.Values))
	case *pb.InlineBitpacking:
		return fmt.Sprintf("bitpacked %d", c.UncompressedBits)
	case *pb.FSST:
		return "fsst(" + codecText(c.Values) + ")"
	case *pb.Dictionary:
		return fmt.Sprintf("dictionary(%s into %d %s)", codecText(c.Indices), c.NumItems, codecText(c.Items))
	case *pb.RLE:
		return fmt.Sprintf("rle(%s, %s)", codecText(c.Values), codecText(c.RunLengths))
	case *pb.ByteStreamSplit:
		return "byte-stream-split(" + codecText(c.Values) + ")"
	case *pb.General:
		return schemeName(c.Compression.Scheme) + "(" + codecText(c.Values) + ")"
	case *pb.FixedSizeList:
		items := codecText(c.Values)
		if c.HasValidity {
			items += "?"
		}
		return fmt.Sprintf("list of %d %s", c.ItemsPerValue, items)
	case *pb.PackedStruct:
		return fmt.Sprintf("packed struct of %v bits", c.BitsPerValue)
	case *pb.VariablePackedStruct:
		return packedText(c)
	case *pb.UnknownCodec:
		return fmt.Sprintf("unknown codec %d", c.Num)
	}
	return fmt.Sprintf("%T", c)
}

func packedText(c *pb.VariablePackedStruct) string {
	members := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		members[i] = codecText(f.Value)
	}
	return "packed struct of (" + strings.Join(members, ", ") + ")"
}

func schemeName(s pb.CompressionScheme) string {
	switch s {
	case pb.LZ4:
		return "lz4"
	case pb.Zstd:
		return "zstd"
	}
	return fmt.Sprintf("compression %d", s)
}

// arrayText returns the text of the encoding of a page of version 2.0. An @ precedes the number of a
// buffer.
func arrayText(a pb.ArrayEncoding) string {
	switch a := a.(type) {
	case nil:
		return "nothing"
	case *pb.ArrayFlat:
		text := fmt.Sprintf("flat %d @%d", a.BitsPerValue, a.Buffer.Index)
		if a.Scheme != "" {
			text = shown(a.Scheme) + "(" + text + ")"
		}
		return text
	case *pb.ArrayNullable:
		return nullableText(a)
	case *pb.ArrayFixedSizeList:
		return fmt.Sprintf("list of %d %s", a.Dimension, arrayText(a.Items))
	case *pb.ArrayList:
		return fmt.Sprintf("list(%s, %d items)", arrayText(a.Offsets), a.NumItems)
	case *pb.ArraySimpleStruct:
		return "struct"
	case *pb.ArrayBinary:
		return fmt.Sprintf("binary(%s, %s)", arrayText(a.Indices), arrayText(a.Bytes))
	case *pb.ArrayDictionary:
		return fmt.Sprintf("dictionary(%s into %d %s)", arrayText(a.Indices), a.NumItems, arrayText(a.Items))
	case *pb.ArrayFSST:
		return "fsst(" + arrayText(a.Binary) + ")"
	case *pb.ArrayPackedStruct:
		return fmt.Sprintf("packed struct of %d @%d", len(a.Inner), a.Buffer.Index)
	case *pb.ArrayFixedSizeBinary:
		return fmt.Sprintf("bytes of %d %s", a.ByteWidth, arrayText(a.Bytes))
	case *pb.ArrayUnknown:
		return "unknown encoding " + a.Name
	}
	return fmt.Sprintf("%T", a)
}

func nullableText(a *pb.ArrayNullable) string {
	switch {
	case a.Values == nil:
		return "all null"
	case a.Validity == nil:
		return "no nulls(" + arrayText(a.Values) + ")"
	}
	return fmt.Sprintf("nullable(%s, %s)", arrayText(a.Values), arrayText(a.Validity))
}
