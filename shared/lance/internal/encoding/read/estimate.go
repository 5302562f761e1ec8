package read

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// textRatio is about the ratio of decompressed to compressed size of text.
const textRatio = 2

// DecodedSize estimates the decoded memory of a page's rows.
func DecodedSize(t arrow.DataType, layout pb.Layout, info encoding.PageInfo) float64 {
	stored := 0
	for _, n := range info.Sizes {
		stored += n
	}
	s, err := values.ShapeOf(t)
	if err != nil {
		return float64(stored)
	}
	width := 0.0 // of a value, if its type determines it
	if s.Kind == values.Fixed {
		width = float64(s.ValueBits()) / 8
	}
	index := 0.0 // of a value in a dictionary that the rows keep
	if d, ok := t.(*arrow.DictionaryType); ok {
		index = float64(d.IndexType.(arrow.FixedWidthDataType).BitWidth()) / 8
	}
	items := float64(info.Rows)
	switch layout := layout.(type) {
	case *pb.MiniBlockLayout:
		items = float64(layout.NumItems)
		if layout.Dictionary != nil && index > 0 {
			return items*index + textRatio*float64(stored)
		}
		if layout.Dictionary != nil && layout.NumDictionaryItems > 0 && len(info.Sizes) > 2 && width == 0 {
			return items * (4 + textRatio*float64(info.Sizes[2])/float64(layout.NumDictionaryItems))
		}
		stored *= expansion(layout.ValueCompression)
	case *pb.ConstantLayout:
		if len(info.Sizes)%2 == 1 && width == 0 {
			width = float64(info.Sizes[0])
		}
		if n := max(layout.NumRepValues, layout.NumDefValues); n > 0 {
			items = float64(n)
		}
		if index > 0 {
			return items*index + float64(stored)
		}
	case *pb.FullZipLayout:
		items = float64(layout.NumItems)
		stored *= expansion(layout.ValueCompression)
	}
	return max(float64(stored), items*width)
}

func expansion(c pb.Codec) int {
	switch c.(type) {
	case *pb.FSST, *pb.General:
		return textRatio
	}
	return 1
}
