package prefilter

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/sql/pruning"
)

// A found is the result of testing a part of a filter by indices: in the fragments that covers
// accepts, no other rows can pass.
type found struct {
	covers func(fragment uint64) bool
	all    bool // covers accepts all fragments with live rows
	rows   *rowset.Set
	exact  bool // all of the rows pass
	pages  int  // number of index pages that were read
}

// find finds the rows that pass a part of the filter by indices. It returns nil if they would have
// to read too much.
func (n *Narrowing) find(ctx context.Context, tree *pruning.Tree) (*found, error) {
	switch {
	case len(tree.Any) > 0:
		return n.findAny(ctx, tree.Any)
	case len(tree.All) > 0:
		return n.findAll(ctx, tree)
	}
	return n.ask(ctx, []pruning.Probe{tree.Probe})
}

// findAny finds the rows that pass at least one of several parts.
func (n *Narrowing) findAny(ctx context.Context, parts []*pruning.Tree) (*found, error) {
	var union *found
	for _, part := range parts {
		f, err := n.find(ctx, part)
		if f == nil || err != nil {
			return nil, err
		}
		if union == nil {
			union = f
			continue
		}
		left, right := union.covers, f.covers
		union.covers = func(fragment uint64) bool { return left(fragment) && right(fragment) }
		union.all = union.all && f.all
		union.rows.Unite(f.rows)
		union.exact, union.pages = union.exact && f.exact, union.pages+f.pages
	}
	return union, nil
}

// findAll finds candidates for the conjunction of several parts. It searches only one index, the
// first that does not have to read too much, and leaves the other parts to the scan. Coarse indices
// come last. Probes of one column form one question.
func (n *Narrowing) findAll(ctx context.Context, tree *pruning.Tree) (*found, error) {
	byIndex, rest := map[*snapshot.Index][]pruning.Probe{}, []*pruning.Tree(nil)
	var order []*snapshot.Index
	for _, part := range flatten(tree) {
		if len(part.Any) > 0 {
			rest = append(rest, part)
			continue
		}
		x := n.indexOf(part.Probe)
		if byIndex[x] == nil {
			order = append(order, x)
		}
		byIndex[x] = append(byIndex[x], part.Probe)
	}
	slices.SortStableFunc(order, func(a, b *snapshot.Index) int { return coarseness(a) - coarseness(b) })
	for _, x := range order {
		f, err := n.ask(ctx, byIndex[x])
		if err != nil {
			return nil, err
		}
		if f != nil {
			f.exact = f.exact && len(order) == 1 && rest == nil
			return f, nil
		}
	}
	for _, part := range rest {
		f, err := n.find(ctx, part)
		if f != nil || err != nil {
			if f != nil {
				f.exact = false
			}
			return f, err
		}
	}
	return nil, nil //nolint:nilnil // all of them would read too much
}

// coarseness is the sort key for the order in which indices are tried.
func coarseness(x *snapshot.Index) int {
	if filters(x).Coarse {
		return 1
	}
	return 0
}

// flatten returns the parts of nested conjunctions as one list.
func flatten(tree *pruning.Tree) []*pruning.Tree {
	if len(tree.All) == 0 {
		return []*pruning.Tree{tree}
	}
	var parts []*pruning.Tree
	for _, part := range tree.All {
		parts = append(parts, flatten(part)...)
	}
	return parts
}

// ask finds the rows that pass all of some probes, by the index of their column.
func (n *Narrowing) ask(ctx context.Context, probes []pruning.Probe) (*found, error) {
	x := n.indexOf(probes[0])
	field, err := n.dataset.Column(x.Columns[0])
	if err != nil {
		return nil, err
	}
	q, err := filters(x).Question(ctx, probes, field.Type)
	if err != nil {
		return nil, err
	}
	return n.search(ctx, x, field.Type, q)
}

// search looks a question up in an index on a column of type t.
func (n *Narrowing) search(ctx context.Context, x *snapshot.Index, t arrow.DataType, q index.Question) (*found, error) {
	segments, err := n.dataset.Segments(x.Name)
	if err != nil {
		return nil, err
	}
	readers, err := n.worthwhile(ctx, x, segments, t, q)
	if readers == nil || err != nil {
		return nil, err
	}
	f := &found{rows: rowset.At(), exact: true, covers: x.Covers, all: x.Unindexed == 0}
	for i, reader := range readers {
		answer, err := reader.Search(ctx, q)
		if err != nil {
			return nil, inSegment(x, segments[i], err)
		}
		rows, err := n.dataset.RowsOf(ctx, segments[i], answer.Rows, !x.Kind.Of.NamesAddresses(segments[i].Version))
		if err != nil {
			return nil, inSegment(x, segments[i], err)
		}
		if answer.Others {
			if rows, err = n.dataset.OthersOf(ctx, segments[i], rows); err != nil {
				return nil, inSegment(x, segments[i], err)
			}
			if float64(rows.Len()) > n.policy.Share*float64(x.Indexed) {
				return nil, nil //nolint:nilnil // a scan would read hardly more
			}
		}
		f.rows.Unite(rows)
		f.exact, f.pages = f.exact && answer.Exact, f.pages+answer.Pages
	}
	return f, nil
}

// inSegment adds the index and the segment to an error.
func inSegment(x *snapshot.Index, s *snapshot.Segment, err error) error {
	return fmt.Errorf("index %s: segment %s: %w", x.Name, s.UUID, err)
}

// isKept reports whether all segments of an index can stay in the cache, beside other things.
func isKept(segments []*snapshot.Segment) bool {
	size := int64(0)
	for _, s := range segments {
		size += s.Bytes()
	}
	return size <= segments[0].CacheBytes()/2
}

// fewPages is the number of pages that may be read in each segment of any size. A value can be at
// the end of one page and the beginning of the next.
const fewPages = 2

// nearFactor multiplies the permitted part of an index for local storage. There an index page takes
// little longer to read than the same number of rows in the column.
const nearFactor = 4

// worthwhile opens the segments of an index. It returns nil if the answer to a question requires
// more than the permitted part of the index, because a scan of the column is then as fast.
func (n *Narrowing) worthwhile(ctx context.Context, x *snapshot.Index, segments []*snapshot.Segment, t arrow.DataType, q index.Question) ([]index.Reader, error) {
	if filters(x).Whole && !isKept(segments) {
		n.describe("too_large_for_cache=%s", x.Name)
		return nil, nil
	}
	readers := make([]index.Reader, len(segments))
	pages, rows, read := 0, int64(0), int64(0)
	for i, s := range segments {
		reader, err := filters(x).Open(ctx, s, t)
		if err != nil {
			return nil, inSegment(x, s, err)
		}
		cost, err := reader.Cost(q)
		if err != nil {
			return nil, inSegment(x, s, err)
		}
		readers[i] = reader
		pages, rows, read = pages+cost.Pages, rows+cost.Rows, read+cost.Read
	}
	// An index in local storage is cheap to read, so a larger part of it may be read.
	if n.dataset.IsNear() {
		read /= nearFactor
	}
	if pages > fewPages*len(segments) && float64(max(rows, read)) > n.policy.Share*float64(x.Indexed) {
		return nil, nil
	}
	return readers, nil
}
