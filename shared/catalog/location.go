package catalog

import (
	"context"
	"regexp"
	"strings"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// NewLocation returns a location under the home root that no table has had, for the data of a new
// table. It contains the name only for human readers.
func (c *Catalog) NewLocation(id []string) objectstore.Location {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (keys.IsPlain(byte(r)) || r == '-' || r == '.') {
			return r
		}
		return '_'
	}, id[len(id)-1])
	name = strings.TrimLeft(name, ".")
	return c.roots.Join(name[:min(len(name), 80)] + "-" + objects.NewUID() + ".lance")
}

// ownLocation matches the end of keys that NewLocation made.
var ownLocation = regexp.MustCompile(`-[0-9a-f]{24}\.lance$`)

// Sole reports whether the catalog made the location for this table, so that no other table had it
// before or gets it later. At any other location another program may drop the table and create a
// new one.
func (t *Table) Sole() bool { return ownLocation.MatchString(t.Location.Prefix) }

// PlannedLocation returns the location for the data of a new table: the one that the client asks
// for, or a new one if asked is empty. A location that the configuration does not allow is
// InvalidInput, one that policies do not allow is PermissionDenied.
func (c *Catalog) PlannedLocation(ctx context.Context, id []string, asked string) (objectstore.Location, error) {
	if asked == "" {
		return c.NewLocation(id), nil
	}
	location, err := c.NamedLocation(asked)
	if err != nil {
		return objectstore.Location{}, err
	}
	return location, auth.CheckLocation(ctx, location.URI)
}

// NamedLocation returns the location that a client chose. A location that the configuration does
// not allow is InvalidInput.
func (c *Catalog) NamedLocation(asked string) (objectstore.Location, error) {
	location, err := c.roots.Resolve(asked)
	if err != nil {
		return objectstore.Location{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: err.Error(), Err: err, // it names the roots; clients print no details
		}
	}
	if c.places.IsHome(location) && reserved(location.Prefix) {
		return objectstore.Location{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: "the location cannot be used: the catalog keeps its own records there; choose another folder",
		}
	}
	return location, nil
}

// reserved reports whether a prefix lies in the catalog's own folders.
func reserved(prefix string) bool {
	first, _, _ := strings.Cut(prefix, "/")
	return strings.HasPrefix(first, "_")
}
