package datafile

import (
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/read"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// BytesPerRow estimates the decoded memory of one row of the fields, for callers that plan how many
// rows to read at once. It uses page sizes and type widths and makes no request. Damaged columns
// count as 0 bytes.
func (f *File) BytesPerRow(fields []*schema.Field) float64 {
	total := 0.0
	for _, field := range fields {
		if f.version == lance.V2_0 {
			for _, node := range field.LeavesV20() {
				total += f.leafBytes(node, nil)
			}
			continue
		}
		total += f.fieldBytes(field, nil)
	}
	return total / float64(max(f.rows, 1))
}

// fieldBytes estimates the decoded size of the leaves of a field in a file of version 2.1 or later.
// The steps in above lead down to the field.
func (f *File) fieldBytes(field *schema.Field, above []repdef.Step) float64 {
	if field.IsLeaf() {
		return f.leafBytes(field, above)
	}
	step, err := stepFrom(field)
	if err != nil {
		return 0
	}
	total := 0.0
	for _, child := range field.Children {
		total += f.fieldBytes(child, append(above, step))
	}
	return total
}

// leafBytes estimates the decoded bytes per row of a leaf.
func (f *File) leafBytes(leaf *schema.Field, above []repdef.Step) float64 {
	c, err := f.columnOf(leaf, above, f.unasked)
	if c == nil || err != nil {
		return 0
	}
	return f.columnBytes(leaf, c)
}

// unasked is the values.Room of an estimate, which has no memory budget to charge. If a column
// would exceed maxKeptBytes, it is skipped and counts as 0 bytes, like a damaged one.
func (f *File) unasked(bytes int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bytes > maxKeptBytes-f.estimated {
		return values.ErrTooLarge
	}
	f.estimated += bytes
	return nil
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
			layout, _ = pb.UnmarshalLayout(p.Encoding.Value) // nil means an unknown layout
		}
		total += read.DecodedSize(leaf.Type, layout, encoding.PageInfo{Sizes: p.sizes, Rows: int(p.Length)})
	}
	c.estimate.Store(&total)
	return total
}
