package materialize

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/difference"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// A change computes a version of a view that shows a target.
type change struct {
	*target
	view  *dataset.Dataset
	order Order

	// Memory of row sets, released when the plan is dropped.
	old memory.Hold // view rows to remove
	new memory.Hold // rows of the source to compute
}

// errRebuild means that all rows have to be computed.
var errRebuild = errors.New("all rows of the view have to be computed")

// replacement returns the rows to replace, or errShown if there are none, or a [*Divided]. s is the state
// of the view.
func (c *change) replacement(ctx context.Context, s state) (mode string, r dataset.Replacement, err error) {
	if c.call != nil && c.call.AllRows {
		return c.tables(ctx, s)
	}
	out, err := c.output()
	if err != nil {
		return "", r, err
	}
	var rows *rowset.Set // of the source; nil is all
	most := int64(math.MaxInt64)
	if limit := c.query.Limit; limit != nil {
		most = int64(*limit)
	}
	mode = modeIncremental
	switch {
	case c.order.all() || s.mark == nil:
		err = errRebuild
	case s.shows(c.mark()):
		return "", r, errShown
	default:
		r.Delete, rows, err = c.difference(ctx, s.mark)
		most -= c.view.CountRows() // with a limit, no row is deleted here
		if c.query.Limit == nil {
			most = math.MaxInt64
		}
	}
	if errors.Is(err, errRebuild) {
		if err := c.divide(c.version.CountRows(), nil, nil); err != nil {
			return "", r, err
		}
		mode, rows, most = modeRebuild, nil, math.MaxInt64
		if c.query.Limit != nil {
			most = int64(*c.query.Limit)
		}
		if c.order.Limit != nil {
			most = min(most, *c.order.Limit)
		}
		if c.order.Limit != nil && c.query.Limit == nil {
			if out.lows, err = c.lows(ctx); err != nil {
				return "", r, err
			}
		}
		r.Delete, err = c.all(ctx)
	}
	if err != nil {
		return "", r, err
	}
	r.Insert = out.rows(ctx, rows, most)
	if c.call != nil {
		r.Insert, err = out.calling(ctx, c.view, r.Insert)
	}
	return mode, r, err
}

// refreshKey is the key that every refresh declares as inserted, so that two refreshes of one view
// conflict. No row has it. Native refreshes record the row id 2^64-1 in a filter; conflict checks assume
// that such a filter may contain any key of a set of another form, such as this one.
//
// Source: lancedb 0.40, materialized_view/refresh.rs, REFRESH_TOKEN_ID.
const refreshKey = math.MaxUint64

// difference returns the rows to remove from the view, and the source rows to compute. The error is
// errRebuild if the difference is unknown, and a [*Divided] if there are many rows.
func (c *change) difference(ctx context.Context, shown *view.Watermark) (evict, compute *rowset.Set, err error) {
	err = c.sinceShown(ctx, shown, func(ctx context.Context, rows *difference.Rows) error {
		if c.query.Limit != nil && !(rows.Gone.IsEmpty() && rows.Changed.IsEmpty()) {
			return fmt.Errorf("%w: other rows may come below its limit", errRebuild)
		}
		if c.plan.Groups != nil && !rows.IsEmpty() {
			return fmt.Errorf("%w: a row of it is made of many of the source", errRebuild)
		}
		err := c.divide(int64(rows.Fresh.GetCardinality()+rows.Changed.GetCardinality()), shown, rows)
		if err == nil {
			evict, err = c.evicted(ctx, rows)
		}
		if err == nil {
			compute, err = c.computed(ctx, rows)
		}
		return err
	})
	return evict, compute, err
}

// evicted returns the view rows to remove.
func (c *change) evicted(ctx context.Context, rows *difference.Rows) (*rowset.Set, error) {
	rows.Gone.Or(rows.Changed)
	return difference.Find(ctx, &c.old, c.view.Snapshot, selection.SourceRowID, rows.Gone)
}

// computed returns the source rows whose view rows must be computed.
func (c *change) computed(ctx context.Context, rows *difference.Rows) (*rowset.Set, error) {
	rows.Fresh.Or(rows.Changed)
	return difference.Places(ctx, &c.new, c.version.Snapshot, rows.Fresh)
}

// sinceShown calls use with the source rows that changed since the version that the view shows. The error
// is errRebuild if they are unknown.
func (c *change) sinceShown(ctx context.Context, shown *view.Watermark, use func(ctx context.Context, rows *difference.Rows) error) error {
	before := int64(shown.Source)
	err := engine.Do(ctx, c.source, &before, func(ctx context.Context, was *dataset.Dataset) error {
		// A table at the same location with other version times is another table.
		if uint64(was.Manifest().Time().UnixNano()) != shown.SourceTS {
			return fmt.Errorf("%w: the source was created anew", errRebuild)
		}
		var fields []int32
		for _, name := range c.plan.Inputs {
			// A column that was dropped and added again has another id.
			is, had := c.version.Schema().Field(name), was.Schema().Field(name)
			if had == nil || had.ID != is.ID {
				return fmt.Errorf("%w: column %s of the source is another one than before", errRebuild, name)
			}
			fields = append(fields, is.ID)
		}
		rows, err := difference.Since(ctx, c.version, was, fields)
		if err != nil {
			return err
		}
		defer rows.Release()
		return use(ctx, rows)
	})
	if errors.Is(err, difference.ErrNotComparable) || protocol.HasCode(err, protocol.TableVersionNotFound) {
		err = fmt.Errorf("%w: %w", errRebuild, err)
	}
	return err
}

// all returns all rows of the view.
func (c *change) all(ctx context.Context) (*rowset.Set, error) {
	return live(ctx, &c.old, fragment.Whole(c.view.Fragments()))
}

// live returns the rows of spans that are not deleted, and charges their memory to held.
func live(ctx context.Context, held *memory.Hold, spans []fragment.Span) (*rowset.Set, error) {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	// Read the deletions of all fragments in parallel; they stay cached for the loop below.
	for _, s := range spans {
		group.Go(func() error {
			_, err := s.At.Deletions(inner)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	rows := &rowset.Set{}
	for _, s := range spans {
		deleted, err := s.At.Deletions(ctx)
		if err != nil {
			return nil, err
		}
		if err := rows.AddHeldBitmap(ctx, held, s.At.Meta.ID, deleted.LiveSet(s.From, s.To)); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// output determines the source of each column of the view. The query does not compute computed columns.
func (c *change) output() (*output, error) {
	o := &output{target: c.target, progress: c.order.Progress, schema: c.view.Schema().BlobValues()}
	computed := computedFields(c.view)
	left := len(c.plan.Query.Columns)
	seen := false
	for i, f := range o.schema.Fields() {
		number := -1
		for at, column := range c.plan.Query.Columns {
			if column.Name == f.Name {
				number = at
			}
		}
		switch {
		case f.Name == selection.SourceRowID:
			seen = f.Type.ID() == arrow.UINT64 || f.Type.ID() == arrow.INT64
		case number >= 0:
			planned := c.plan.Schema.Field(number)
			// Native LanceDB derives non-nullability for more expressions over groups than this planner.
			nullable := planned.Nullable && c.plan.Groups == nil
			if !arrow.TypeEqual(planned.Type, f.Type) || nullable && !f.Nullable {
				return nil, errSchema("column %q is of type %s, and the query gives %s", f.Name, f.Type, planned.Type)
			}
			left--
		case f.Name == view.IsSet && f.Type.ID() == arrow.BOOL:
		case f.Name == selection.ChildIndex && c.call != nil && f.Type.ID() == arrow.INT32:
		case c.call != nil && f.Name != selection.ChildIndex: // the function makes it, or another job fills it
		case !f.Nullable || !computed[c.view.Schema().Fields[i].ID]:
			return nil, errSchema("column %q is not in the query", f.Name)
		}
		o.from = append(o.from, number)
	}
	if left != 0 || !seen {
		return nil, errSchema("it lacks columns of the query, or %s", selection.SourceRowID)
	}
	return o, nil
}

// errSchema is the error for a definition that does not match the columns of the view.
func errSchema(format string, args ...any) error {
	return &protocol.Error{
		Code: protocol.TableSchemaValidationError, Message: "the definition of the view does not produce its columns: " + fmt.Sprintf(format, args...),
		Detail: "create the view anew",
	}
}
