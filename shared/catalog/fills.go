package catalog

import (
	"context"
	"slices"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
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

// changeTable changes the record of a table, unless change returns false.
func (c *Catalog) changeTable(ctx context.Context, t *Table, change func(*stored.Table) bool) error {
	defer c.lookups.Invalidate(keys.Table(t.ID))
	for range objects.ManyTries {
		record, etag, err := c.names.Table(ctx, t.ID)
		if err != nil {
			return err
		}
		if record.UID != t.UID {
			return objects.LostRace("table", t.ID, stored.ErrMoved)
		}
		changed := *record
		if !change(&changed) {
			return nil
		}
		_, err = c.store.Write(ctx, keys.Table(t.ID), &changed, objectstore.Condition{IfMatch: etag})
		if !objects.Changed(err) {
			return err
		}
	}
	return objects.LostRace("table", t.ID, objectstore.ErrPrecondition)
}
