package snapshot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/lance/schema"
)

// A window is a run of physical rows of one fragment that is read as a unit.
type window struct {
	fragment  *fragment.Fragment
	from, to  int64
	offset    int64 // live rows of the table before it
	live      int64 // live rows in it
	bytes     int64 // estimated decoded size
	transient bool  // do not cache the decoded columns
}

// A plan cuts the fragments of a scan into windows. It proceeds by groups of fragments, because it
// must open their files to learn the row widths.
type plan struct {
	snapshot  *Snapshot
	fields    []*schema.Field                        // fields to read
	offset    int64                                  // live rows before the next fragment
	fragments []*fragment.Fragment                   // not planned yet
	only      func(fragment uint64) bool             // nil: all of them
	span      func(fragment uint64) (from, to int64) // nil: all rows
	choice    choice
	from, to  int64 // range of wanted live rows
	transient bool
	first     []window
}

// A choice selects rows of the windows. The zero value selects all live rows.
type choice struct {
	rows   *rowset.Set              // nil: all live rows
	where  *Where                   // may be nil
	among  *Candidates              // candidates for where; may be nil
	tested *Projection              // columns that where reads
	none   func() arrow.RecordBatch // returns the empty result, for a window of which where keeps no row
}

// planned holds the windows of some fragments.
type planned struct {
	windows []window
	err     error
}

// planScan plans a scan and returns how many of the planned rows to skip.
func (s *Snapshot) planScan(ctx context.Context, opts ScanOptions) (p *Projection, pl *plan, skip int64, err error) {
	if p, err = s.Project(opts.Columns); err != nil {
		return nil, nil, 0, err
	}
	pl = &plan{snapshot: s, fields: p.fields(), fragments: s.fragments(), only: opts.Only, span: opts.Span, choice: choice{rows: opts.Rows}, to: math.MaxInt64}
	// A filter makes the position of a row in the result unknown, so Offset rows are skipped after
	// it. Without one, whole windows before Offset need not be read.
	if opts.Where != nil {
		pl.choice = choice{where: opts.Where, none: sync.OnceValue(func() arrow.RecordBatch { return emptyBatch(p.schema) })}
		if pl.choice.tested, err = s.Project(opts.Where.Columns); err != nil {
			return nil, nil, 0, err
		}
		skip = opts.Offset
	} else {
		pl.from = max(opts.Offset, 0)
		if opts.Limit > 0 && opts.Limit < math.MaxInt64-pl.from {
			pl.to = pl.from + opts.Limit
		}
	}
	if pl.choice.among, err = s.prepare(ctx, opts.Among, pl.fields); err != nil {
		return nil, nil, 0, err
	}
	if pl.choice.among != nil && pl.choice.among.All {
		pl.fragments = s.fragmentsOf(pl.choice.among.Rows)
	}
	if pl.tests() {
		pl.fields = append(pl.fields, pl.choice.tested.fields()...)
	}
	pl.transient = pl.estimate() > transientShare*float64(s.place.Cache.MaxBytes())
	if err := pl.begin(ctx); err != nil {
		return nil, nil, 0, err
	}
	// The first window may begin before Offset.
	if opts.Where == nil && len(pl.first) > 0 {
		skip = max(pl.from-pl.first[0].offset, 0)
	}
	return p, pl, skip, nil
}

// fragmentsOf returns the fragments that have some rows, in the order of their ids.
func (s *Snapshot) fragmentsOf(rows *rowset.Set) []*fragment.Fragment {
	var found []*fragment.Fragment
	for _, id := range slices.Sorted(rows.Fragments()) {
		if f := s.Fragment(id); f != nil {
			found = append(found, f)
		}
	}
	return found
}

// prepare loads the deletion vectors before a scan. In parallel it opens the files of the fields
// and asks for the candidates.
func (s *Snapshot) prepare(ctx context.Context, candidates func(context.Context) (*Candidates, error), fields []*schema.Field) (*Candidates, error) {
	if candidates == nil {
		return nil, s.loadDeletions(ctx)
	}
	defer s.openAhead(ctx, fields)()
	if s.knowsDeletions() {
		return candidates(ctx)
	}
	loaded := make(chan error, 1)
	go func() { loaded <- s.loadDeletions(ctx) }()
	among, err := candidates(ctx)
	return among, errors.Join(<-loaded, err)
}

// tests reports whether the filter must be evaluated for any row.
func (p *plan) tests() bool {
	if p.choice.where == nil {
		return false
	}
	among := p.choice.among
	return among == nil || !among.Sure || !among.All && slices.ContainsFunc(p.fragments, func(f *fragment.Fragment) bool { return !among.Covers(f.Meta.ID) })
}

// begin plans the first windows.
func (p *plan) begin(ctx context.Context) (err error) {
	for err == nil && len(p.first) == 0 && len(p.fragments) > 0 {
		p.first, err = p.next(ctx)
	}
	return err
}

// transientShare bounds the part of the cache that one scan may fill. A larger scan is not cached:
// it would evict everything else and, at its end, its own beginning.
const transientShare = 0.75

// ScanBytes estimates the decoded bytes of a scan of some columns from the manifest alone. Column
// names are as in ScanOptions.
func (s *Snapshot) ScanBytes(columns []string) (int64, error) {
	p, _, err := s.resolveAll(columns)
	if err != nil {
		return 0, err
	}
	pl := &plan{snapshot: s, fields: p.fields(), fragments: s.fragments()}
	rowColumns := len(p.columns) - len(pl.fields)
	return int64(pl.estimate()) + 8*int64(rowColumns)*s.rows, nil
}

// estimate returns the decoded bytes of the scan, estimated from the manifest.
func (p *plan) estimate() float64 {
	w := p.snapshot.widths()
	if len(p.fragments) < len(p.snapshot.fragments()) {
		w = fragment.WidthsOf(p.fragments)
	}
	total := 0.0
	for _, field := range p.fields {
		total += w.Bytes(field)
	}
	return total
}

// isFixed reports whether all columns have fixed-width values, whose size their types determine.
func (p *plan) isFixed() bool {
	return !slices.ContainsFunc(p.fields, func(f *schema.Field) bool { return !isFixed(f.Type) })
}

// isFixed reports whether values of a type have a fixed width in memory. Dictionaries do not,
// because their values are shared.
func isFixed(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		return isFixed(t.Elem())
	case *arrow.StructType:
		return !slices.ContainsFunc(t.Fields(), func(f arrow.Field) bool { return !isFixed(f.Type) })
	case arrow.ExtensionType:
		return isFixed(t.StorageType())
	case *arrow.DictionaryType:
		return false
	}
	_, fixed := t.(arrow.FixedWidthDataType)
	return fixed
}

// rest plans the remaining fragments in a goroutine. It returns nil if none remain.
func (p *plan) rest(ctx context.Context) <-chan planned {
	if len(p.fragments) == 0 {
		return nil
	}
	groups := make(chan planned, 1)
	go func() {
		defer close(groups)
		for len(p.fragments) > 0 {
			var group planned
			group.windows, group.err = p.next(ctx)
			select {
			case groups <- group:
			case <-ctx.Done():
				return
			}
			if group.err != nil {
				return
			}
		}
	}()
	return groups
}

// next plans the next group of fragments, at most MaxConcurrentReads.
func (p *plan) next(ctx context.Context) ([]window, error) {
	var group []*fragment.Fragment
	var offsets []int64
	for len(p.fragments) > 0 && len(group) < MaxConcurrentReads && p.offset < p.to {
		f := p.fragments[0]
		p.fragments = p.fragments[1:]
		// Fragments before Offset are skipped without opening their files.
		deleted, err := f.Deletions(ctx)
		if err != nil {
			return nil, err
		}
		at := p.offset
		p.offset += f.Rows - int64(deleted.Len())
		if p.offset > p.from && p.wants(f.Meta.ID) {
			group, offsets = append(group, f), append(offsets, at)
		}
	}
	if p.offset >= p.to {
		p.fragments = nil
	}
	widths, err := p.widths(ctx, group)
	if err != nil {
		return nil, err
	}
	var windows []window
	for i, f := range group {
		cutOff, err := p.cut(ctx, f, offsets[i], widths[i])
		if err != nil {
			return nil, err
		}
		windows = append(windows, cutOff...)
	}
	return windows, nil
}

// wants reports whether the scan may read rows of a fragment.
func (p *plan) wants(fragment uint64) bool {
	if p.span != nil {
		if from, to := p.span(fragment); from >= to {
			return false
		}
	}
	if p.only != nil && !p.only(fragment) || p.choice.rows != nil && p.choice.rows.Of(fragment) == nil {
		return false
	}
	rows, all := p.choice.among.of(fragment)
	return !all || rows != nil
}

// widths returns the estimated decoded bytes per row of each fragment.
func (p *plan) widths(ctx context.Context, fragments []*fragment.Fragment) ([]float64, error) {
	widths := make([]float64, len(fragments))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrentReads)
	for i, f := range fragments {
		width := func() (err error) {
			defer lance.Contain(func(e error) { err = e })
			widths[i], err = f.RowBytes(ctx, p.fields)
			return err
		}
		if !f.Ready() {
			group.Go(width)
		} else if err := width(); err != nil {
			return nil, errors.Join(err, group.Wait())
		}
	}
	return widths, group.Wait()
}

// cut cuts a fragment into windows. All but the last have a power of two of rows, so that scans of
// the same columns cut at the same rows and find decoded columns in the cache.
func (p *plan) cut(ctx context.Context, f *fragment.Fragment, offset int64, rowBytes float64) ([]window, error) {
	deleted, err := f.Deletions(ctx)
	if err != nil {
		return nil, err
	}
	var windows []window
	rows, first, end := windowRows(rowBytes), int64(0), f.Rows
	if p.span != nil {
		first, end = p.span(f.Meta.ID)
		first, end = max(first, 0), min(end, f.Rows)
	}
	for from := first; from < end && offset < p.to; from += rows {
		w := window{fragment: f, from: from, to: min(from+rows, end), offset: offset, transient: p.transient}
		w.live = w.to - w.from - deleted.Deleted(w.from, w.to)
		w.bytes = int64(float64(w.to-w.from) * rowBytes)
		offset += w.live
		if w.live == 0 || offset <= p.from {
			continue
		}
		n, all := p.choice.rowsOf(w)
		if n == 0 && !all {
			continue
		}
		if !all {
			w.bytes = min(w.bytes, w.bytesOf(p.fields, n))
		}
		windows = append(windows, w)
	}
	return windows, nil
}

// rowsOf counts the rows of a window that may be wanted, including deleted ones. all reports that
// any row may be.
func (c *choice) rowsOf(w window) (n int64, all bool) {
	id := w.fragment.Meta.ID
	if c.rows != nil {
		return c.rows.Of(id).Deleted(w.from, w.to), false
	}
	rows, there := c.among.of(id)
	return rows.Deleted(w.from, w.to), !there
}

// bytesOf estimates the memory needed to read n rows of a window.
func (w window) bytesOf(fields []*schema.Field, n int64) int64 {
	total := 0.0
	for _, field := range fields {
		if w.areFew(field, n) {
			total += float64(n) * max(takeBytes, w.fragment.FieldBytes(field))
		} else {
			total += float64(w.to-w.from) * w.fragment.FieldBytes(field)
		}
	}
	return int64(total)
}

// maxWindowRows bounds the rows of a window with narrow columns.
const maxWindowRows = 1 << 18

// windowRows returns the number of rows in a window: a power of two, at least 1.
func windowRows(bytesPerRow float64) int64 {
	rows := windowBytes / max(bytesPerRow, 1)
	return 1 << (bits.Len64(uint64(min(max(rows, 1), maxWindowRows))) - 1)
}

// halves splits a window of at least two rows.
func (w window) halves(ctx context.Context) ([]window, error) {
	deleted, err := w.fragment.Deletions(ctx)
	if err != nil {
		return nil, err
	}
	first, second := w, w
	first.to = w.from + (w.to-w.from)/2
	first.live = first.to - first.from - deleted.Deleted(first.from, first.to)
	first.bytes = w.bytes / 2
	second.from, second.offset = first.to, w.offset+first.live
	second.live, second.bytes = w.live-first.live, w.bytes-first.bytes
	return []window{first, second}, nil
}

// tooWide adds the widest column to the error of a single row that exceeds the memory.
func (p *plan) tooWide(ctx context.Context, w window, err error) error {
	name, most := "", -1.0
	for _, field := range p.fields {
		bytes, failed := w.fragment.RowBytes(ctx, []*schema.Field{field})
		if bytes = max(bytes, datafile.FixedWidth(field.Type)); failed == nil && bytes > most {
			name, most = field.Name, bytes
		}
	}
	return fmt.Errorf("row %d of fragment %d, most of which is column %s: %w", w.from, w.fragment.Meta.ID, name, err)
}
