package catalog

import (
	"context"
	"slices"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
)

// maxFills bounds what jobs may compute of a table without a request, and maxUses the uses of functions by its
// columns. The oldest are given up.
const maxFills, maxUses = 200, 4096

// AllowFill records that jobs may compute something of a table without a request: the metadata of the table may
// be written by those who may not use a function that it names. Callers have checked the rights of who asks
// for it, and call it before they make the column. The error is stored.ErrMoved when the name stands for
// another table now.
func (c *Catalog) AllowFill(ctx context.Context, t *Table, what string) error {
	return c.changeTable(ctx, t, func(r *stored.Table) bool {
		if slices.Contains(r.Fills, what) {
			return false
		}
		r.Fills = append(slices.Clone(r.Fills[max(0, len(r.Fills)-maxFills+1):]), what)
		return true
	})
}

// AllowUse records who has columns of a table use a function. It is called as [Catalog.AllowFill] is.
func (c *Catalog) AllowUse(ctx context.Context, t *Table, what string, by *auth.Principal) error {
	return c.changeTable(ctx, t, func(r *stored.Table) bool {
		uses := slices.DeleteFunc(slices.Clone(r.Uses), func(u stored.Use) bool { return u.What == what })
		uses = append(uses, stored.Use{What: what, By: by})
		r.Uses = uses[max(0, len(uses)-maxUses):]
		return true
	})
}

// UserOf returns who has columns of the table use a function, nil when it is not known.
func (t *Table) UserOf(what string) *auth.Principal {
	for _, use := range t.Uses {
		if use.What == what {
			return use.By
		}
	}
	return nil
}

// Annotate records that the manifests of a table may hold metadata of their versions. Callers call
// it before they make the first such version. The error is stored.ErrMoved when the name stands for
// another table now.
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
