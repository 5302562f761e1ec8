package catalog

import (
	"context"

	"tiltyard/shared/catalog/stored"
)

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
