package tables

import (
	"context"
	"fmt"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/selection"
)

// Read does work that changes nothing on the rows that a name stands for, as [catalog.Read] does:
// those of a branch of a table, or those that a plain view shows of its source.
func Read[T any](ctx context.Context, in Tables, id []string, branch string, work func(context.Context, *engine.Table) (T, error)) (T, error) {
	answer, err := catalog.Read(ctx, in.Names, id, func(ctx context.Context, t *catalog.Table) (T, error) {
		rows, err := in.On(ctx, t, branch)
		if err != nil {
			var none T
			return none, err
		}
		return work(ctx, rows)
	})
	view := catalog.PlainView(err)
	switch {
	case view == nil:
		return answer, err
	case protocol.BranchName(branch) != "":
		return answer, protocol.Errorf(protocol.InvalidInput, "branch: %s is a view, which has none", keys.Display(id))
	}
	return ReadSource(ctx, in, view, work)
}

// ReadSource is [Read] for the rows that a plain view shows. Whoever reads them must be permitted to
// query the source; else the error is PermissionDenied.
func ReadSource[T any](ctx context.Context, in Tables, view *stored.View, work func(context.Context, *engine.Table) (T, error)) (T, error) {
	var none T
	query, err := selection.Parse(view.Plain.Query)
	if err != nil {
		return none, fmt.Errorf("stored view %s: %w", view.UID, err)
	}
	if source := auth.Table(view.Source); !auth.Permits(ctx, "QueryTable", source) {
		return none, auth.Denied("QueryTable", source)
	}
	return catalog.Read(ctx, in.Names, view.Source, func(ctx context.Context, t *catalog.Table) (T, error) {
		return work(ctx, in.At(t).Seen(query))
	})
}
