package drops

import (
	"context"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// retention returns how long an object is kept after its drop: the nearest setting among the
// object's own properties and those of the namespaces around it, or the default.
func (d *Drops) retention(ctx context.Context, id []string, properties map[string]string) (time.Duration, error) {
	ctx = auth.Unlimited(ctx) // the right to drop the object does not include the right to see the namespaces around it
	for {
		if text, ok := properties[protocol.PropertyDropRetention]; ok {
			if d, err := protocol.ParseDropRetention(text); err == nil { // else the property was set before such properties were checked
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

// newDrop returns the field that a drop adds to the record of an object.
func (d *Drops) newDrop(ctx context.Context, id []string, keep time.Duration, with string) *stored.Drop {
	now := d.names.Now().UTC()
	drop := &stored.Drop{ID: id, At: now, Until: now.Add(keep), With: with}
	if by := auth.FromContext(ctx); by != nil {
		drop.By = by.String()
	}
	return drop
}
