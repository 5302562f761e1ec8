package drops

import (
	"context"
	"time"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
)

// retention returns how long an object is kept after its drop. The properties are those of the object
// itself.
func (d *Drops) retention(ctx context.Context, id []string, properties map[string]string) (time.Duration, error) {
	ctx = auth.Unlimited(ctx) // the caller may drop the object, and need not see the namespaces around it
	for {
		if text, ok := properties[protocol.PropertyDropRetention]; ok {
			if d, err := protocol.ParseDropRetention(text); err == nil { // else the property is older than the check of it
				return d, nil
			}
		}
		if id = keys.Parent(id); keys.IsRoot(id) {
			return d.Retention, nil
		}
		around, _, err := d.names.Namespace(ctx, id)
		switch {
		case protocol.HasCode(err, protocol.NamespaceNotFound):
			return d.Retention, nil
		case err != nil:
			return 0, err
		}
		properties = around.Properties
	}
}

// newDrop returns what the record of an object that is dropped now has beside its other fields.
func (d *Drops) newDrop(ctx context.Context, id []string, keep time.Duration, with string) *stored.Drop {
	now := d.names.Now().UTC()
	drop := &stored.Drop{ID: id, At: now, Until: now.Add(keep), With: with}
	if by := auth.FromContext(ctx); by != nil {
		drop.By = by.String()
	}
	return drop
}
