package condition

import (
	"context"
	"fmt"

	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// Rows are the rows that a query reads or searches.
type Rows struct {
	Filter  Filter
	Only    func(fragment uint64) bool             // nil: all fragments
	Span    func(fragment uint64) (from, to int64) // of a part of a query; nil: all rows of the fragments
	text    string                                 // the filter's text, for the plan
	indices []string                               // names of the indices that determine Only
}

// NewRows resolves the filter of a query. If fast is set, only rows that the indices of the filter cover are included.
func NewRows(ctx context.Context, r Relation, filter string, fast bool, policy prefilter.Policy) (rows Rows, err error) {
	if rows.Filter, err = New(ctx, "filter", filter, r, policy); err != nil {
		return rows, err
	}
	rows.text = r.FilterText(filter)
	if fast && rows.Filter.Bound != nil {
		rows.Only, rows.indices, err = prefilter.Covered(r.Dataset, rows.Filter.Bound)
	}
	return rows, err
}

// InBoth returns the intersection of two sets of fragments; nil means all fragments.
func InBoth(a, b func(fragment uint64) bool) func(fragment uint64) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(fragment uint64) bool { return a(fragment) && b(fragment) }
}

// Options returns scan options for some columns of the rows.
func (r Rows) Options(columns []string) snapshot.ScanOptions {
	opts := r.Filter.Options(columns)
	opts.Only, opts.Span = r.Only, r.Span
	return opts
}

// Step returns the plan step of the scan with these options.
func (r Rows) Step(d *dataset.Dataset, columns []string) *explain.Step {
	s := scanStep(d, r.text, r.Options(columns))
	if r.Only != nil {
		s.With("only_indexed_by=%s", explain.List(r.indices))
	}
	if n := r.Filter.Narrowing; n != nil {
		n.Describe(s)
	}
	return s
}

// scanStep returns the plan step that reads a table, or a part of it.
func scanStep(d *dataset.Dataset, filter string, opts snapshot.ScanOptions) *explain.Step {
	s := explain.New(d.Now, explain.Scan).With("columns=%s", explain.List(opts.Columns))
	if opts.Where != nil {
		s.With("filter=%s", filter).WithMore("filter_columns=%s", explain.List(opts.Where.Columns)).Like("FilterExec")
	}
	fragments, deleted := d.Counts()
	s.WithMore("version=%d", d.Version()).WithMore("fragments=%d", fragments).WithMore("rows=%d", d.CountRows()).WithMore("deleted_rows=%d", deleted)
	return s.WithMore("%s", explain.Later(func() string {
		bytes, err := d.ScanBytes(opts.Columns)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("bytes_estimate=%d", bytes)
	}))
}
