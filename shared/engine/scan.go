package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A tableScan answers a query without a search and without an order: the rows that its filter
// keeps, as they lie in the table.
type tableScan struct {
	dataset       *dataset.Dataset
	out           *output
	opts          dataset.ScanOptions
	read, project *step
}

// newScan resolves a query without a search.
func newScan(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (answer, error) {
	out, err := planOutput(ctx, req, d, "")
	if err != nil {
		return nil, err
	}
	rows, err := newAsked(ctx, d, req)
	if err != nil {
		return nil, err
	}
	limit := int64(0)
	if req.K != nil {
		limit = *req.K
	}
	if req.K != nil && limit == 0 && req.Dialect == protocol.DialectLanceDB {
		return &noRows{out.schema, projectStep(d, out, nil)}, nil
	}
	if len(req.OrderBy) > 0 {
		return newSort(d, req, out, rows, limit)
	}
	s := &tableScan{dataset: d, out: out, opts: rows.options(out.sources), read: rows.step(d, req, out.sources)}
	s.opts.Offset, s.opts.Limit = req.Offset, limit
	if req.Offset > 0 {
		s.read.says("offset=%d", req.Offset)
	}
	if limit > 0 {
		s.read.says("limit=%d", limit)
	}
	s.project = projectStep(d, out, s.read)
	return s, nil
}

// noRows answers a query for none of a table's rows, which the clients of LanceDB ask with a k of
// zero. They say it in another way that they want all.
type noRows struct {
	schema  *arrow.Schema
	project *step
}

func (n *noRows) plan() *step { return n.project }

func (n *noRows) rows(context.Context) (*protocol.Rows, error) {
	none := func(func(arrow.RecordBatch, error) bool) {}
	return &protocol.Rows{Schema: n.schema, Batches: n.project.counted(none)}, nil
}

// asked is which rows of a table a query is about, or may find by its search.
type asked struct {
	where   *dataset.Where
	only    func(fragment uint64) bool // nil: of all fragments
	indices []string                   // that say so
}

func newAsked(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (a asked, err error) {
	if a.where, err = where(ctx, "filter", req.Filter, d); err != nil {
		return a, err
	}
	a.only, a.indices, err = indexedOnly(ctx, d, req)
	return a, err
}

// options are those of a scan of columns of the rows.
func (a asked) options(columns []string) dataset.ScanOptions {
	return dataset.ScanOptions{Columns: columns, Where: a.where, Only: a.only}
}

// step describes such a scan.
func (a asked) step(d *dataset.Dataset, req *protocol.QueryTableRequest, columns []string) *step {
	s := scanStep(d, req, a.options(columns))
	if a.only != nil {
		s.says("only_indexed_by=%s", list(a.indices))
	}
	return s
}

// scanStep describes the reading of a table, or of what is left of it.
func scanStep(d *dataset.Dataset, req *protocol.QueryTableRequest, opts dataset.ScanOptions) *step {
	s := newStep(d, stepScan).says("columns=%s", list(opts.Columns))
	if opts.Where != nil {
		s.says("filter=%s", req.Filter).adds("filter_columns=%s", list(opts.Where.Columns))
	}
	sizes := d.Stats()
	s.adds("version=%d", d.Version()).adds("fragments=%d", len(sizes.Lengths)).adds("rows=%d", sizes.Rows).adds("deleted_rows=%d", sizes.DeletedRows)
	if bytes, err := d.ScanBytes(opts.Columns); err == nil {
		s.adds("bytes_estimate=%d", bytes)
	}
	return s
}

// projectStep describes the making of the answer's columns.
func projectStep(d *dataset.Dataset, out *output, from *step) *step {
	names := make([]string, len(out.columns))
	for i, f := range out.schema.Fields() {
		names[i] = f.Name
	}
	s := newStep(d, "Project", from).says("columns=%s", list(names))
	return s.adds("types=%s", list(typeNames(out.schema)))
}

func typeNames(schema *arrow.Schema) []string {
	names := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		names[i] = f.Type.String()
	}
	return names
}

func (s *tableScan) plan() *step { return s.project }

func (s *tableScan) rows(ctx context.Context) (*protocol.Rows, error) {
	_, batches, err := s.dataset.Scan(s.read.reading(ctx), s.opts)
	if err != nil {
		return nil, err
	}
	batches = s.read.counted(batches)
	return &protocol.Rows{Schema: s.out.schema, Batches: s.project.counted(s.out.batches(ctx, batches))}, nil
}
