package legacyfile

import (
	"context"
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// ReadRange returns rows [from, to) of top-level fields, one array per field with its children. A
// field, or part of one, that the file lacks is null. Otherwise only empty strings and binaries in
// nullable fields are null.
//
// A read takes one round of concurrent requests. Strings, binaries and lists take another round,
// because their offsets must be read first, and so does each level of nested lists.
func (f *File) ReadRange(ctx context.Context, fields []*schema.Field, from, to int64) ([]arrow.Array, error) {
	if from < 0 || to < from || to > f.NumRows() {
		return nil, fmt.Errorf("read rows [%d, %d) of data file %s, which has %d", from, to, f.key, f.NumRows())
	}
	return f.read(ctx, fields, f.split(nil, from, to), to-from)
}

// Take returns single rows as ReadRange does; the row numbers must ascend without
// repetition. It reads only the parts of pages that hold these rows.
func (f *File) Take(ctx context.Context, fields []*schema.Field, rows []int64) ([]arrow.Array, error) {
	var picks []pick
	last := int64(-1)
	for i := 0; i < len(rows); {
		from := rows[i]
		if from <= last || from >= f.NumRows() {
			return nil, fmt.Errorf("take row %d after %d of data file %s, which has %d", from, last, f.key, f.NumRows())
		}
		last = from
		for i++; i < len(rows) && rows[i] == last+1 && rows[i] < f.NumRows(); i++ {
			last++
		}
		picks = f.split(picks, from, last+1)
	}
	return f.read(ctx, fields, picks, int64(len(rows)))
}

// A pick is a run of items in the pages of one batch.
type pick struct {
	batch    int
	from, to int64
}

// split appends the rows [from, to), divided among the batches that hold them.
func (f *File) split(picks []pick, from, to int64) []pick {
	at := sort.Search(len(f.starts), func(i int) bool { return f.starts[i] > from }) - 1
	for ; from < to; at++ {
		end := min(to, f.starts[at+1])
		if from < end {
			picks = append(picks, pick{at, from - f.starts[at], end - f.starts[at]})
		}
		from = end
	}
	return picks
}

// A node reads items of one field. It alternately returns the byte ranges that it needs and
// receives their bytes, until it needs no more.
type node interface {
	// want sets the items to read. It is called once, first of all.
	want(picks []pick) error
	// need returns the spans to read next; all are within the file.
	need() ([]span, error)
	// give passes the bytes of these spans.
	give(parts [][]byte) error
	// data returns the array of the n items, once need returns nothing more.
	data(n int64) (arrow.ArrayData, error)
}

// read builds a node per field, serves their requests round by round, and returns their arrays.
func (f *File) read(ctx context.Context, fields []*schema.Field, picks []pick, rows int64) ([]arrow.Array, error) {
	all := group{nodes: make([]node, len(fields))}
	var err error
	for i, field := range fields {
		if all.nodes[i], err = f.node(field); err != nil {
			return nil, fmt.Errorf("read data file %s: field %q: %w", f.key, field.Name, err)
		}
	}
	if err := all.want(picks); err != nil {
		return nil, fmt.Errorf("read data file %s: %w", f.key, err)
	}
	for {
		spans, err := all.need()
		if err != nil {
			return nil, fmt.Errorf("read data file %s: %w", f.key, err)
		}
		if len(spans) == 0 {
			break
		}
		parts, err := f.fetch(ctx, spans)
		if err == nil {
			err = all.give(parts)
		}
		if err != nil {
			return nil, fmt.Errorf("read data file %s: %w", f.key, err)
		}
	}
	arrays := make([]arrow.Array, len(fields))
	for i, field := range fields {
		data, err := all.nodes[i].data(rows)
		if err != nil {
			return nil, fmt.Errorf("read data file %s: field %q: %w", f.key, field.Name, err)
		}
		arrays[i] = makeArray(data)
	}
	return arrays, nil
}

// node returns the node for a field of the table, by the type of the file's field with its
// id.
func (f *File) node(field *schema.Field) (node, error) {
	stored := f.field(field.ID)
	if stored == nil {
		return &absentNode{field: field}, nil
	}
	if len(field.Children) == 0 && !arrow.TypeEqual(stored.Type, field.Type) {
		return nil, corrupt("a field of type %s, want %s", stored.Type, field.Type)
	}
	if field.IsBlob() {
		return nil, fmt.Errorf("%w: blobs in legacy data files", lance.ErrUnsupported)
	}
	base := paged{file: f.stored, field: field}
	switch t := field.Type.(type) {
	case *arrow.StructType:
		return f.structNode(field)
	case *arrow.ListType, *arrow.LargeListType:
		if len(field.Children) != 1 {
			return nil, corrupt("a list of %d fields", len(field.Children))
		}
		items, err := f.node(field.Children[0])
		if err != nil {
			return nil, err
		}
		return &listNode{paged: base, items: items, large: t.ID() == arrow.LARGE_LIST}, nil
	case *arrow.DictionaryType:
		return f.dictionaryNode(stored, base, t)
	case *arrow.NullType:
		return &nullNode{paged: base}, nil
	}
	if isBinary(field.Type) {
		return &binaryNode{paged: base}, nil
	}
	if bits, ok := fixedBits(field.Type); ok {
		return &fixedNode{paged: base, bits: bits}, nil
	}
	return nil, fmt.Errorf("%w: fields of type %s in legacy data files", lance.ErrUnsupported, field.Type)
}

// A group is a node that reads several nodes at the same time.
type group struct {
	nodes []node
	spans []int // ranges that each node needed last
}

func (g *group) want(picks []pick) error {
	for _, n := range g.nodes {
		if err := n.want(picks); err != nil {
			return err
		}
	}
	return nil
}

// need joins the requests of all nodes and records how many each made.
func (g *group) need() ([]span, error) {
	var all []span
	g.spans = make([]int, len(g.nodes))
	for i, n := range g.nodes {
		spans, err := n.need()
		if err != nil {
			return nil, err
		}
		g.spans[i] = len(spans)
		all = append(all, spans...)
	}
	return all, nil
}

// give distributes the parts to the nodes in the order of their requests.
func (g *group) give(parts [][]byte) error {
	for i, n := range g.nodes {
		if g.spans[i] == 0 {
			continue
		}
		if err := n.give(parts[:g.spans[i]]); err != nil {
			return err
		}
		parts = parts[g.spans[i]:]
	}
	return nil
}
