package catalog

import (
	"context"
	"errors"
	"slices"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// RenameTable gives a table another name in the same or another namespace, which must exist. Its
// data stays where it is. A taken name is TableAlreadyExists.
func (c *Catalog) RenameTable(ctx context.Context, id, to []string) (*Table, error) {
	if keys.IsRoot(to) {
		return nil, &protocol.Error{Code: protocol.InvalidInput, Message: "a table needs a name"}
	}
	defer c.lookups.Invalidate(keys.Table(id))
	defer c.lookups.Invalidate(keys.Table(to))
	for attempt := range objects.Tries {
		old, etag, err := c.names.SoleTable(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := notPlain(old); err != nil {
			return nil, err
		}
		if slices.Equal(id, to) {
			return nil, naming.TableExists(to)
		}
		if err := c.places.AddName(ctx, old, to); err != nil {
			return nil, err
		}
		renamed, err := c.names.Rename(ctx, old, etag, to)
		switch {
		case err == nil:
			if renamed.View != nil {
				c.renameDependent(ctx, renamed)
			}
			return c.table(renamed)
		case errors.Is(err, naming.ErrTaken):
			err = c.names.AwaitFree(ctx, to, attempt)
		case objects.Changed(err):
			err = nil // the record has changed or is gone: read it again
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, objects.LostRace("table", id, objectstore.ErrPrecondition)
}
