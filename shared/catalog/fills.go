package catalog

import (
	"context"
	"slices"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol/auth"
)

// maxFills bounds the jobs that a table permits without a request, and maxUses the uses of functions by its columns.
// Beyond them the oldest are removed.
const maxFills, maxUses = 200, 4096

// AllowFill permits jobs to compute a column or an index of a table, named by what, without a request. The permission is
// in the record, because a user without the right to a function may write the metadata of the table, which names it.
// Callers check the rights of the principal first, and call AllowFill before they make the column. The error is
// stored.ErrMoved if the name now stands for another table.
func (c *Catalog) AllowFill(ctx context.Context, t *Table, what string) error {
	return c.changeTable(ctx, t, func(r *stored.Table) bool {
		if slices.Contains(r.Fills, what) {
			return false
		}
		r.Fills = append(slices.Clone(r.Fills[max(0, len(r.Fills)-maxFills+1):]), what)
		return true
	})
}

// AllowUse records the principal for whom columns of a table call a function. The rules of
// [Catalog.AllowFill] for callers apply.
func (c *Catalog) AllowUse(ctx context.Context, t *Table, what string, by *auth.Principal) error {
	return c.changeTable(ctx, t, func(r *stored.Table) bool {
		uses := slices.DeleteFunc(slices.Clone(r.Uses), func(u stored.Use) bool { return u.What == what })
		uses = append(uses, stored.Use{What: what, By: by})
		r.Uses = uses[max(0, len(uses)-maxUses):]
		return true
	})
}

// UserOf returns the principal for whom columns call a function, or nil if it is unknown.
func (t *Table) UserOf(what string) *auth.Principal {
	for _, use := range t.Uses {
		if use.What == what {
			return use.By
		}
	}
	return nil
}

// Annotate records that the manifests of a table may contain metadata of their versions. Callers
// call it before they make the first such version. The error is stored.ErrMoved if the name now
// stands for another table.
func (c *Catalog) Annotate(ctx context.Context, t *Table) error {
	if t.Annotated {
		return nil
	}
	return c.changeTable(ctx, t, func(r *stored.Table) bool {
		changes := !r.Annotated
		r.Annotated = true
		return changes
	})
}

// changeTable changes the record of a table, unless change returns false.
func (c *Catalog) changeTable(ctx context.Context, t *Table, change func(*stored.Table) bool) error {
	defer c.names.Forget(t.ID)
	_, _, err := c.names.Change(ctx, t.ID, func(record *stored.Table) (bool, error) {
		if record.UID != t.UID {
			return false, objects.LostRace("table", t.ID, stored.ErrMoved)
		}
		return change(record), nil
	})
	return err
}
