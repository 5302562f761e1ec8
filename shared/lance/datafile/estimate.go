package datafile

import (
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// BytesPerRow estimates how many bytes of memory a row of the fields takes when it has
// been read, from the sizes of pages and the widths of types, for planning how many rows
// to read at once. It reads nothing; what is damaged counts as nothing.
func (f *File) BytesPerRow(fields []*schema.Field) float64 {
	total := 0.0
	for _, field := range fields {
		leaves := field.Leaves()
		if f.version == lance.V2_0 {
			leaves = field.LeavesV20()
		}
		for _, leaf := range leaves {
			c, err := f.columnOf(leaf)
			if c == nil || err != nil {
				continue
			}
			total += f.columnBytes(leaf, c)
		}
	}
	return total / float64(max(f.rows, 1))
}

// columnBytes estimates the decoded size of a column.
func (f *File) columnBytes(leaf *schema.Field, c *fileColumn) float64 {
	if bytes := c.estimate.Load(); bytes != nil {
		return *bytes
	}
	total := 0.0
	for _, p := range c.pages {
		var layout pb.Layout
		if p.Encoding.TypeURL == pb.TypePageLayout {
			layout, _ = pb.UnmarshalLayout(p.Encoding.Value) // nil is a layout nothing is known of
		}
		total += encoding.DecodedSize(leaf.Type, layout, encoding.PageInfo{Sizes: p.sizes, Rows: int(p.Length)})
	}
	c.estimate.Store(&total)
	return total
}
