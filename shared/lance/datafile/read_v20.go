package datafile

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/internal/encoding/version20"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// In version 2.0 every field is a column. Which items of a list a read needs is known only after
// the list's own column has been read. A field is therefore one task: a tree of readers, in which
// each reader starts once the reader above it has set its rows.

// A fieldV20 reads rows of a field and its descendants.
type fieldV20 interface {
	fieldRead
	// want sets the rows to read. It is called once.
	want(rows []encoding.RowRange) error
	// run is like columnTask.run. It is called after want.
	run(src *source) (bool, []interval, error)
}

// planV20 plans the read of a top-level field.
func (r *fileRead) planV20(field *schema.Field) (fieldRead, error) {
	f, err := r.fieldV20(field)
	if err != nil {
		return nil, err
	}
	r.tasks = append(r.tasks, f)
	return f, f.want(r.rows)
}

// fieldV20 plans a field and its descendants. A field without a column is null.
func (r *fileRead) fieldV20(field *schema.Field) (fieldV20, error) {
	c, err := r.file.columnOf(field, nil, r.room)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return &nullV20{nullField{field.Type, r.room}}, nil
	}
	if field.IsLeaf() {
		return &leafV20{field: field, column: c, room: r.room, builder: version20.LeafBuilder{Type: field.Type, Room: r.room}}, nil
	}
	children := make([]fieldV20, len(field.Children))
	for i, child := range field.Children {
		if children[i], err = r.fieldV20(child); err != nil {
			return nil, fmt.Errorf("%q: %w", child.Name, err)
		}
	}
	switch storageType(field.Type).(type) {
	case *arrow.StructType:
		return &structV20{field: field, children: children}, nil
	case *arrow.ListType, *arrow.LargeListType:
		return &listV20{field: field, column: c, room: r.room, items: children[0]}, nil
	}
	return nil, fmt.Errorf("%w: fields of type %s in version 2.0", lance.ErrUnsupported, field.Type)
}

// openV20 makes the reader of a page of version 2.0.
func (p *filePage) openV20(field *schema.Field) (*version20.PageReader, error) {
	p.once.Do(func() {
		if p.Encoding.TypeURL != pb.TypeArrayEncoding {
			p.err = fmt.Errorf("%w: page encoded as %q", lance.ErrUnsupported, p.Encoding.TypeURL)
			return
		}
		enc, err := pb.UnmarshalArrayEncoding(p.Encoding.Value)
		if err != nil {
			p.err = fmt.Errorf("%w: page encoding: %w", lance.ErrCorrupt, err)
			return
		}
		p.v20, p.err = version20.NewPageReader(field.Type, enc, p.info())
	})
	return p.v20, p.err
}

func countRows(rows []encoding.RowRange) int {
	n := 0
	for _, r := range rows {
		n += r.To - r.From
	}
	return n
}

// splitV20 divides rows among pages like split. Rows past the end of the column are an error.
func (c *fileColumn) splitV20(rows []encoding.RowRange) ([]part, error) {
	if n := len(rows); n > 0 && rows[n-1].To > c.rows() {
		return nil, fmt.Errorf("%w: column %d has %d items, want %d", lance.ErrCorrupt, c.index, c.rows(), rows[n-1].To)
	}
	return c.split(rows), nil
}

// A nullV20 is a field without a column in the file.
type nullV20 struct{ nullField }

func (nullV20) want([]encoding.RowRange) error        { return nil }
func (nullV20) run(*source) (bool, []interval, error) { return true, nil, nil }

// A leafV20 reads a field without children.
type leafV20 struct {
	field   *schema.Field
	column  *fileColumn
	rows    int
	parts   []part
	items   []*version20.Items
	room    values.Room
	builder version20.LeafBuilder
}

// want divides the rows among the pages.
func (l *leafV20) want(rows []encoding.RowRange) (err error) {
	l.rows = countRows(rows)
	l.parts, err = l.column.splitV20(rows)
	l.items = make([]*version20.Items, len(l.parts))
	return err
}

// run decodes the pages whose bytes are available.
func (l *leafV20) run(src *source) (bool, []interval, error) {
	var wanted []interval
	for i, p := range l.parts {
		if l.items[i] != nil {
			continue
		}
		reader, err := p.page.openV20(l.field)
		if err == nil {
			l.items[i], err = reader.Read(p.page.fetcher(src, &wanted), l.room, p.rows)
		}
		if err != nil {
			return false, nil, l.column.pageError(p.index, err)
		}
	}
	return len(wanted) == 0, wanted, nil
}

// array joins the decoded pages to one array.
func (l *leafV20) array(n int) (arrow.Array, error) {
	if l.rows != n {
		return nil, fmt.Errorf("%w: column %d has %d items, want %d", lance.ErrCorrupt, l.column.index, l.rows, n)
	}
	for _, it := range l.items {
		l.builder.Add(it)
	}
	a, err := l.builder.Finish(n)
	if err != nil {
		return nil, fmt.Errorf("column %d: %w", l.column.index, err)
	}
	return a, nil
}

// A structV20 reads a struct. It does not read the struct's own column, which holds nothing, since
// no struct of version 2.0 is null.
type structV20 struct {
	field    *schema.Field
	children []fieldV20
}

// want passes the rows on: members have as many rows as their struct.
func (s *structV20) want(rows []encoding.RowRange) error {
	for _, child := range s.children {
		if err := child.want(rows); err != nil {
			return err
		}
	}
	return nil
}

// run advances all members, so that they share request rounds.
func (s *structV20) run(src *source) (bool, []interval, error) {
	var wanted []interval
	done := true
	for _, child := range s.children {
		childDone, childWanted, err := child.run(src)
		if err != nil {
			return false, nil, err
		}
		done = done && childDone
		wanted = append(wanted, childWanted...)
	}
	return done, wanted, nil
}

// array assembles n structs. They have no nulls, because version 2.0 cannot store null structs.
func (s *structV20) array(n int) (arrow.Array, error) {
	children := make([]arrow.ArrayData, len(s.children))
	for i, child := range s.children {
		a, err := child.array(n)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s.field.Children[i].Name, err)
		}
		children[i] = a.Data()
	}
	return nestedArray(s.field.Type, &repdef.Node{Len: n}, children), nil
}

// A listV20 reads a list: first its own column, then the items to which that refers.
type listV20 struct {
	field  *schema.Field
	column *fileColumn
	items  fieldV20
	room   values.Room
	parts  []part
	lists  []*version20.Lists
	asked  bool // want of the items was called
	node   repdef.Node
}

// want divides the lists among the pages.
func (l *listV20) want(rows []encoding.RowRange) (err error) {
	l.parts, err = l.column.splitV20(rows)
	l.lists = make([]*version20.Lists, len(l.parts))
	return err
}

// run decodes list pages, whose offsets select the rows of the item column, and then runs the
// items.
func (l *listV20) run(src *source) (bool, []interval, error) {
	var wanted []interval
	for i, p := range l.parts {
		if l.lists[i] != nil {
			continue
		}
		reader, err := p.page.openV20(l.field)
		if err == nil {
			l.lists[i], err = reader.ReadLists(p.page.fetcher(src, &wanted), l.room, p.rows)
		}
		if err != nil {
			return false, nil, l.column.pageError(p.index, err)
		}
	}
	if len(wanted) > 0 {
		return false, wanted, nil
	}
	if !l.asked {
		l.asked = true
		if err := l.askItems(); err != nil {
			return false, nil, fmt.Errorf("column %d: %w", l.column.index, err)
		}
	}
	return l.items.run(src)
}

// askItems sets the rows of the item reader. The offsets of a page of lists count from the first
// item of that page, so the number of items in all pages before is added to them.
func (l *listV20) askItems() error {
	var rows []encoding.RowRange
	var builder version20.ListBuilder
	base, next := 0, 0
	for i, p := range l.parts {
		// Pages without wanted rows still count their items.
		for ; next < p.index; next++ {
			reader, err := l.column.pages[next].openV20(l.field)
			if err != nil {
				return fmt.Errorf("page %d: %w", next, err)
			}
			if base += int(min(reader.NumItems(), maxItems)); base > maxItems {
				return fmt.Errorf("%w: lists of more than %d items", lance.ErrCorrupt, maxItems)
			}
		}
		if err := builder.Add(l.lists[i]); err != nil {
			return fmt.Errorf("page %d: %w", p.index, err)
		}
		for _, r := range l.lists[i].Items {
			if r.From == r.To {
				continue
			}
			from, to := base+r.From, base+r.To
			// Merge adjacent ranges, so that the items are read in few pieces.
			if n := len(rows); n > 0 && rows[n-1].To == from {
				rows[n-1].To = to
				continue
			}
			rows = append(rows, encoding.RowRange{From: from, To: to})
		}
	}
	l.node = builder.Finish()
	return l.items.want(rows)
}

// array assembles n lists from the offsets and the items.
func (l *listV20) array(n int) (arrow.Array, error) {
	if l.node.Len != n {
		return nil, fmt.Errorf("%w: column %d has %d lists, want %d", lance.ErrCorrupt, l.column.index, l.node.Len, n)
	}
	items, err := l.items.array(int(l.node.Offsets[n]))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", l.field.Children[0].Name, err)
	}
	return nestedArray(l.field.Type, &l.node, []arrow.ArrayData{items.Data()}), nil
}
