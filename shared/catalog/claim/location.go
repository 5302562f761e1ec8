package claim

import (
	"context"
	"strings"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// New returns a location in the home root that no table has had, for the data of a new table. The
// name of the table is part of it for human readers only.
func (c *Places) New(id []string) objectstore.Location {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (keys.IsPlain(byte(r)) || r == '-' || r == '.') {
			return r
		}
		return '_'
	}, id[len(id)-1])
	name = strings.TrimLeft(name, ".")
	return c.roots.Join(name[:min(len(name), 80)] + "-" + objects.NewUID() + ".lance")
}

// Planned returns the location for the data of a new table: the one that the client chose, or a new
// one if asked is empty. The error is InvalidInput for a location outside of the configured roots,
// and PermissionDenied for one that policies forbid.
func (c *Places) Planned(ctx context.Context, id []string, asked string) (objectstore.Location, error) {
	if asked == "" {
		return c.New(id), nil
	}
	location, err := c.Named(asked)
	if err != nil {
		return objectstore.Location{}, err
	}
	return location, auth.CheckLocation(ctx, location.URI)
}

// Named returns the location that a client chose. A location that the configuration does
// not allow is InvalidInput.
func (c *Places) Named(asked string) (objectstore.Location, error) {
	location, err := c.roots.Resolve(asked)
	if err != nil {
		return objectstore.Location{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: err.Error(), Err: err, // the message names the roots, because clients print no details
		}
	}
	if c.IsHome(location) && Reserved(location.Prefix) {
		return objectstore.Location{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: "the location cannot be used: the catalog keeps its own records there; choose another folder",
		}
	}
	return location, nil
}

// Reserved reports whether a prefix is in a folder of the catalog itself.
func Reserved(prefix string) bool {
	first, _, _ := strings.Cut(prefix, "/")
	return strings.HasPrefix(first, "_")
}
