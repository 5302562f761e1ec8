package tables

import (
	"context"
	"fmt"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/process/tally"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// Rows calls work with the table that has the rows of a name: a table, or the source of a plain view, as seen through the
// view. work must not change anything, because [Inspect] may repeat it.
func Rows[T any](ctx context.Context, h Handle, work func(context.Context, *engine.Table) (T, error)) (T, error) {
	spread := h.spread(ctx)
	spreading := func(ctx context.Context, t *engine.Table) (T, error) { return work(ctx, t.SpreadWith(spread)) }
	answer, err := Inspect(ctx, h, func(ctx context.Context, t Table) (T, error) { return spreading(ctx, t.Table) })
	view := views.Plain(err)
	switch {
	case view == nil:
		return answer, err
	case h.branch != "":
		return answer, protocol.Errorf(protocol.InvalidInput, "branch: %s is a view, which has none", keys.Display(h.id))
	}
	return RowsOfSource(ctx, h.in, view, spreading)
}

// spread returns how parts of large queries run elsewhere, or nil. The parts name what the query names, and are queries
// whatever the operation is, so its caller must have the right to query.
func (h Handle) spread(ctx context.Context) *query.Spread {
	if h.in.parts == nil || !auth.Permits(ctx, "QueryTable", auth.Table(h.id)) {
		return nil
	}
	return h.in.parts.Spread(h.id, h.branch, int(tally.MostParts(ctx)))
}

// RowsOfSource is [Rows] for a plain view. The sender must have the right to query the source; otherwise the error is
// PermissionDenied.
func RowsOfSource[T any](ctx context.Context, in Tables, view *stored.View, work func(context.Context, *engine.Table) (T, error)) (T, error) {
	var none T
	seen, err := selection.Parse(view.Plain.Query)
	if err != nil {
		return none, fmt.Errorf("stored view %s: %w", view.UID, err)
	}
	if source := auth.Table(view.Source); !auth.Permits(ctx, "QueryTable", source) {
		return none, auth.Denied("QueryTable", source)
	}
	return Inspect(ctx, in.Open(view.Source, ""), func(ctx context.Context, t Table) (T, error) {
		return work(ctx, t.WithView(seen))
	})
}
