package importing

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"tiltyard/shared/storage/objectstore"
)

// A folder is a location that contains tables.
type folder struct {
	roots  *objectstore.Roots
	place  string // as in Options.Place, without a slash at the end
	store  objectstore.Store
	prefix string // key prefix of the folder: "" or ending with a slash
	home   bool   // the catalog's own root
}

// openFolder returns the folder at a place, which must be one of the roots or lie below one.
func openFolder(roots *objectstore.Roots, place string) (folder, error) {
	f := folder{roots: roots, place: strings.TrimRight(place, "/")}
	const inside = "x" // a root itself is not a location, but a path below it is
	at, err := f.at(inside)
	if err != nil {
		return folder{}, fmt.Errorf("look into %s: %w", objectstore.URI(place), err)
	}
	f.store, f.prefix = at.Store, strings.TrimSuffix(at.Prefix, inside)
	f.home = f.prefix == "" && at.URI == roots.Join(inside).URI
	return f, nil
}

// at returns the location of a path below the folder.
func (f folder) at(path string) (objectstore.Location, error) {
	if !strings.Contains(f.place, "://") {
		return f.roots.Resolve(f.place + "/" + path)
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return f.roots.Resolve(f.place + "/" + strings.Join(parts, "/"))
}

// names lists the folders directly in the folder, in the order of their names.
func (f folder) names(ctx context.Context) (folders []string, err error) {
	opts := objectstore.ListOptions{Prefix: f.prefix, Delimiter: "/", Limit: 1000}
	for page, err := range objectstore.Pages(ctx, f.store, opts) {
		if err != nil {
			return nil, fmt.Errorf("look into %s: %w", objectstore.URI(f.place), err)
		}
		for _, prefix := range page.Prefixes {
			folders = append(folders, strings.TrimSuffix(strings.TrimPrefix(prefix, f.prefix), "/"))
		}
	}
	return folders, nil
}

const tableSuffix = ".lance"

// ours matches the names of folders that this catalog creates. Such a folder without a name in the
// catalog was deregistered, or left behind by a create or a drop.
var ours = regexp.MustCompile(`-[0-9a-f]{24}\.lance$`)

// Files that directory namespaces write into the folder of a table.
const (
	reservedMark     = ".lance-reserved"     // the table is declared
	deregisteredMark = ".lance-deregistered" // the table is deregistered
)

// find returns the items in a folder that may be imported.
func (a *importer) find(ctx context.Context, from folder) ([]item, error) {
	folders, err := from.names(ctx)
	if err != nil {
		return nil, err
	}
	var items []item
	listed := map[string]bool{} // locations that the manifest lists
	for _, name := range folders {
		if name != manifestFolder {
			continue
		}
		if items, err = a.readManifest(ctx, from); err != nil {
			return nil, err
		}
		for _, it := range items {
			listed[it.at.URI] = true
		}
	}
	for _, name := range folders {
		if !strings.HasSuffix(name, tableSuffix) || name == tableSuffix {
			continue
		}
		it, err := a.lone(ctx, from, name)
		if err != nil {
			return nil, err
		}
		if !listed[it.at.URI] {
			items = append(items, it)
		}
	}
	sortItems(items)
	return items, nil
}

// lone returns the item for a folder that no manifest lists. Its name becomes the table's id.
func (a *importer) lone(ctx context.Context, from folder, name string) (item, error) {
	it := item{kind: tableKind, id: []string{strings.TrimSuffix(name, tableSuffix)}, place: name}
	at, err := from.at(name)
	if err != nil {
		it.problem = err.Error()
		return it, nil //nolint:nilerr // it is found, and cannot be imported
	}
	it.at, it.place = at, at.URI
	it.forgotten = from.home && ours.MatchString(name)
	page, err := from.store.List(ctx, objectstore.ListOptions{Prefix: at.Prefix + "/.lance-", Limit: 10})
	if err != nil {
		return it, err
	}
	for _, object := range page.Objects {
		switch strings.TrimPrefix(object.Key, at.Prefix+"/") {
		case reservedMark:
			it.declared = true
		case deregisteredMark:
			it.problem = "it was deregistered by the directory namespace that it belonged to"
		}
	}
	return it, nil
}
