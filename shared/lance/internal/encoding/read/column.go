package read

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
)

// A Column is the decoded form of one leaf for rows of the field at the start of its path: the
// leaf's own values, and the structure of all fields around it.
type Column struct {
	Nodes []repdef.Node // of the fields around the leaf, outermost first; may be left out
	Leaf  arrow.Array   // items of the leaf: those of the innermost field, if any
}

// A ColumnBuilder makes a Column of decoded rows of consecutive pages.
type ColumnBuilder struct {
	// LeafOnly leaves out the structure of the fields around the leaf. All leaves of a field hold
	// the same structure, so one of them is enough.
	LeafOnly bool
	// Room gives the memory for values joined from several pages, and for levels.
	Room values.Room

	path  *repdef.Path
	up    *repdef.Unraveler
	pages []*values.Items
	items int // of the leaf, in all pages
}

// NewColumnBuilder returns a builder for the leaf at the end of path.
func NewColumnBuilder(path *repdef.Path) *ColumnBuilder {
	return &ColumnBuilder{path: path, up: repdef.NewUnraveler(path)}
}

// Add takes decoded rows, which must not be used again.
func (b *ColumnBuilder) Add(it *Items) error {
	if len(b.path.Steps) > 0 {
		if err := b.Room.TakeItems(it.levels.N, entryBytes); err != nil {
			return err
		}
	}
	nulls := -1
	if it.allNull {
		nulls = it.Count()
	}
	if err := b.up.Add(it.plan, it.levels, nulls, b.LeafOnly); err != nil {
		return err
	}
	it.levels = repdef.Levels{}
	b.items += it.Count()
	if got := b.up.Items(); got != b.items {
		return lance.Corruptf("%d values where levels tell of %d", b.items, got)
	}
	b.pages = append(b.pages, &it.Items)
	return nil
}

// Finish returns the column, which must have the given number of rows. With LeafOnly the rows are
// not known; the caller must compare the number of items with the structure from another leaf.
func (b *ColumnBuilder) Finish(rows int) (*Column, error) {
	if got := b.up.Rows(); !b.LeafOnly && got != rows {
		return nil, lance.Corruptf("%d rows, want %d", got, rows)
	}
	all, err := values.Join(b.path.Leaf.Type, b.pages, b.items, b.Room)
	if err != nil {
		return nil, err
	}
	c := &Column{}
	if !b.LeafOnly {
		c.Nodes = b.up.Nodes()
	}
	c.Leaf, err = values.ToArrow(b.path.Leaf.Type, all, b.up.LeafValid())
	return c, err
}
