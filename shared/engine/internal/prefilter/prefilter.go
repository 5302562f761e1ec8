// Package prefilter finds candidate rows of a filter by the indices of a table, so that a scan
// reads fewer rows.
//
// A filter is a tree of conditions. [New] picks the conditions that an index of the table can test
// (package index/kinds defines them for each kind of index). Before the scan reads rows,
// [Narrowing.Candidates] turns these conditions into questions and looks them up in the segments of
// the indices (find.go). The scan then reads only the rows that the indices returned, and all rows
// of the fragments without an index.
//
// An index never changes the answer: the scan tests the candidates again unless the indices are
// exact, and it reads all rows if an index is damaged, too large, or of an unknown form.
package prefilter

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/pruning"
	"tiltyard/shared/storage/objectstore"
)

// A Policy decides when indices are used.
type Policy struct {
	Bytes int64   // a filter reads columns of fewer bytes without an index
	Share float64 // maximum part of an index to read
	// Warn logs that an index could not be used.
	Warn func(ctx context.Context, message string, about ...slog.Attr)
}

func (p Policy) warn(ctx context.Context, indices []string, err error) {
	p.Warn(ctx, "an index is not used", slog.Any("indices", indices), slog.Any("error", err))
}

// A Narrowing is the part of a filter that the indices of a version can test, for one scan.
type Narrowing struct {
	policy  Policy
	dataset *dataset.Dataset
	tree    *pruning.Tree
	whole   bool                       // tree is the whole filter
	indices map[string]*snapshot.Index // by column
	columns []string                   // columns of the filter
	step    *explain.Step              // plan step of the scan; nil without a plan
}

// New returns the part of a filter that indices of the version can test, or nil if there is none.
// It reads no files.
func New(d *dataset.Dataset, bound *plan.Bound, policy Policy) (*Narrowing, error) {
	indices, err := scalarIndices(d)
	if err != nil || len(indices) == 0 {
		return nil, err
	}
	n := &Narrowing{policy: policy, dataset: d, indices: indices, columns: bound.Columns()}
	n.tree, n.whole = bound.Narrow(n.answer)
	if n.tree == nil {
		return nil, nil //nolint:nilnil // the filter has no narrowing, which is no error
	}
	return n, nil
}

// answer returns how the index on a column can be used for a probe.
func (n *Narrowing) answer(p pruning.Probe) pruning.Answer {
	x := n.indexOf(p)
	if x == nil {
		return pruning.Open
	}
	field, err := n.dataset.Column(x.Columns[0])
	if err != nil || !filters(x).Tests(p, field.Type) {
		return pruning.Open
	}
	return answerOf(x, p)
}

// indexOf returns the index on the column of a probe, or nil.
func (n *Narrowing) indexOf(p pruning.Probe) *snapshot.Index {
	return n.indices[schema.FormatPath(p.Column...)]
}

// names returns the names of the indices.
func (n *Narrowing) names() []string {
	var names []string
	for _, p := range n.tree.Probes() {
		if x := n.indexOf(p); !slices.Contains(names, x.Name) {
			names = append(names, x.Name)
		}
	}
	return names
}

// Describe adds the indices to the plan step of the scan. Candidates adds its results to the same
// step.
func (n *Narrowing) Describe(s *explain.Step) {
	n.step = s.With("narrowed_by=%s", explain.List(n.names())).Like("ScalarIndexQuery")
}

// describe adds a detail to the plan step.
func (n *Narrowing) describe(format string, args ...any) {
	if n.step != nil {
		n.step.WithMore(format, args...)
	}
}

// Candidates finds the rows that can pass the filter by indices. It returns nil if a scan of all
// rows is cheaper, or if an index is unreadable.
func (n *Narrowing) Candidates(ctx context.Context) (*snapshot.Candidates, error) {
	if bytes, err := n.dataset.ScanBytes(n.columns); err != nil || bytes+n.fragmentBytes() < n.policy.Bytes {
		return nil, err
	}
	f, err := n.find(ctx, n.tree)
	switch {
	case IsUnusable(err):
		n.policy.warn(ctx, n.names(), err)
		n.describe("index_not_used=%q", err)
		return nil, nil //nolint:nilnil // the scan reads all rows
	case err != nil:
		return nil, err
	case f == nil:
		n.describe("index_used=false")
		return nil, nil //nolint:nilnil // the scan reads all rows
	}
	n.describe("index_pages=%d", f.pages)
	n.describe("index_rows=%d", f.rows.Len())
	return &snapshot.Candidates{Covers: f.covers, All: f.all, Rows: f.rows, Sure: n.whole && f.exact}, nil
}

// fragmentBytes is the cost of the fragments of a scan besides their bytes: each is planned, opened and read.
func (n *Narrowing) fragmentBytes() int64 {
	const perFragment = 16 << 10
	return perFragment * int64(len(n.dataset.Fragments())-1)
}

// IsUnusable reports whether an error is caused by the index, so that a scan without it may
// succeed: the files of the index are damaged, missing, inaccessible or of an unknown form, or need
// more memory than there is. After an error of the storage, or after the end of the request, the
// scan would fail too.
func IsUnusable(err error) bool {
	var refused *memory.Error
	return snapshot.IsDamage(err) || errors.As(err, &refused) || errors.Is(err, lance.ErrUnsupported) || errors.Is(err, objectstore.ErrLocation)
}
