package drops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/storage/objectstore"
)

// A Drop is a table, a view or a namespace that was dropped and can be restored.
type Drop struct {
	Name  string // the name of the drop, which distinguishes drops of the same id
	Kind  namespaceapi.DroppedKind
	ID    []string // the former id
	By    string   // the principal that dropped it; empty if unknown
	At    time.Time
	Until time.Time // it can be restored at least until then
	// Location is the URI of a table's data. It is empty for other objects.
	Location string
	// With is the name of the drop of the namespace that was dropped together with the object. It is
	// empty if the object was dropped by itself.
	With string

	begun bool // a restoration of the namespace has begun and may be unfinished
}

// object returns the object for checks of policies.
func (o *Drop) object() auth.Object {
	if o.Kind == namespaceapi.DroppedNamespace {
		return auth.Namespace(o.ID)
	}
	return auth.Table(o.ID)
}

func (d *Drops) ofTable(record *stored.Table) *Drop {
	of := record.Dropped
	found := &Drop{Name: record.ID[1], Kind: namespaceapi.DroppedTable, ID: of.ID, By: of.By, At: of.At, Until: of.Until, With: of.With}
	if record.View != nil {
		found.Kind = namespaceapi.DroppedView
	}
	if at, err := d.names.Locate(record); err == nil && record.Location != "" {
		found.Location = at.URI
	}
	return found
}

func ofNamespace(record *stored.Namespace) *Drop {
	of := record.Dropped
	found := &Drop{Name: record.ID[1], Kind: namespaceapi.DroppedNamespace, ID: of.ID, By: of.By, At: of.At, Until: of.Until, With: of.With}
	if found.With == found.Name {
		found.With = ""
	}
	return found
}

// List returns the dropped tables, views and namespaces that were inside a namespace, at any depth, and that the caller
// may see. It returns at most limit of them (lists.NoLimit: no bound), after the given page token. next is the token of
// the following page, empty at the end. Namespaces come first, then the others in the order in which they expire.
func (d *Drops) List(ctx context.Context, inside []string, after string, limit int) (found []*Drop, next string, err error) {
	return d.list(ctx, inside, after, limit, false)
}

// list returns the page of List. With begun it includes namespaces whose restoration may be
// unfinished.
func (d *Drops) list(ctx context.Context, inside []string, after string, limit int, begun bool) (found []*Drop, next string, err error) {
	prefix := keys.Records + keys.Folder([]string{keys.Dropped}) + "/"
	opts := objectstore.ListOptions{Prefix: prefix, Limit: droppedPage}
	if after != "" {
		opts.StartAfter = prefix + after
	}
	for limit != 0 {
		page, err := d.names.Store.List(ctx, opts)
		if err != nil {
			return nil, "", fmt.Errorf("list what is dropped: %w", err)
		}
		all, err := d.readDropped(ctx, page.Objects)
		if err != nil {
			return nil, "", err
		}
		for i, one := range all {
			if one == nil || one.begun && !begun || !keys.Inside(one.ID, inside) || !auth.Sees(ctx, one.object()) {
				continue
			}
			found = append(found, one)
			if limit != lists.NoLimit && len(found) == limit && (page.More || i+1 < len(all)) {
				return found, strings.TrimPrefix(page.Objects[i].Key, prefix), nil
			}
		}
		if !page.More || len(page.Objects) == 0 {
			break
		}
		opts.StartAfter = page.Objects[len(page.Objects)-1].Key
	}
	return found, "", nil
}

// Sizes returns the total size in bytes of the files in the folder of each dropped table, and nil
// for other objects. It lists all of these files.
func (d *Drops) Sizes(ctx context.Context, all []*Drop) ([]*int64, error) {
	sizes := make([]*int64, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readFanOut)
	for i, one := range all {
		if one.Location == "" {
			continue
		}
		group.Go(func() error {
			at, err := d.roots.Resolve(one.Location)
			if err != nil {
				return fmt.Errorf("location of dropped table %s: %w", keys.Display(one.ID), err)
			}
			sizes[i] = new(int64)
			for object, err := range objectstore.Objects(ctx, at.Store, objectstore.ListOptions{Prefix: at.Prefix + "/", Limit: objects.PageSize}) {
				if err != nil {
					return fmt.Errorf("list the files of dropped table %s: %w", keys.Display(one.ID), err)
				}
				*sizes[i] += object.Size
			}
			return nil
		})
	}
	return sizes, group.Wait()
}

// readFanOut bounds the records of dropped objects that are read in parallel.
const readFanOut = 16

// droppedPage is the number of records of dropped objects on one page.
const droppedPage = 100

// readDropped reads listed records of dropped objects. The result has nil where an object cannot be
// restored.
func (d *Drops) readDropped(ctx context.Context, listed []objectstore.Info) ([]*Drop, error) {
	all := make([]*Drop, len(listed))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readFanOut)
	for i, object := range listed {
		group.Go(func() (err error) {
			if keys.Namespaces.Has(object.Key) {
				all[i], err = d.readDroppedNamespace(ctx, object.Key)
				return err
			}
			name := object.Key[strings.LastIndexByte(object.Key, '/')+1:]
			settled, err := d.names.Settled(ctx, keys.DroppedID(name))
			if record := settled.Record; err == nil && record != nil && record.Dropped != nil && !record.Dropped.Purging {
				all[i] = d.ofTable(record)
			}
			return err
		})
	}
	return all, group.Wait()
}

func (d *Drops) readDroppedNamespace(ctx context.Context, key string) (*Drop, error) {
	var kept stored.Namespace
	_, found, err := d.names.Store.Find(ctx, key, &kept)
	if err != nil || !found || kept.Dropped == nil {
		return nil, err
	}
	stands, err := d.standsAgain(ctx, &kept)
	if err != nil || stands && len(kept.Dropped.To) == 0 {
		return nil, err
	}
	one := ofNamespace(&kept)
	one.begun = stands
	return one, nil
}

// newestDrop returns the name of an id's newest drop.
func (d *Drops) newestDrop(ctx context.Context, id []string, of auth.Object) (string, error) {
	var newest *Drop
	all, _, err := d.list(ctx, id, "", lists.NoLimit, true)
	if err != nil {
		return "", err
	}
	for _, one := range all {
		if slices.Equal(one.ID, id) && one.object() == of && (newest == nil || one.At.After(newest.At)) {
			newest = one
		}
	}
	if newest == nil {
		return "", nothingDropped(id)
	}
	return newest.Name, nil
}

// nothingDropped is the error if no drop of an id can be undone.
func nothingDropped(id []string) *protocol.Error {
	return &protocol.Error{
		Code: protocol.TableNotFound, Message: fmt.Sprintf("nothing that was dropped as %s can be restored", keys.Display(id)),
		Detail: fmt.Sprintf("the list of what is dropped shows what can be; drops with the property %s=0 delete at once", protocol.PropertyDropRetention),
	}
}

// findTable returns the record of a dropped table. If drop is empty, it takes the newest drop of
// the id. The error is TableNotFound if the caller may see none.
func (d *Drops) findTable(ctx context.Context, id []string, drop string) (*stored.Table, string, error) {
	if drop == "" {
		var err error
		if drop, err = d.newestDrop(ctx, id, auth.Table(id)); err != nil {
			return nil, "", err
		}
	}
	found, err := d.names.Settled(ctx, keys.DroppedID(drop))
	if err != nil {
		return nil, "", err
	}
	record := found.Record
	if record == nil || record.Dropped == nil || record.Dropped.Purging || !slices.Equal(record.Dropped.ID, id) || !auth.Sees(ctx, auth.Table(id)) {
		return nil, "", nothingDropped(id)
	}
	return record, found.ETag, nil
}

// findNamespace finds the record of a dropped namespace in the same way. It also returns one that
// exists again while its restoration is unfinished. The error is NamespaceNotFound.
func (d *Drops) findNamespace(ctx context.Context, id []string, drop string) (*stored.Namespace, string, error) {
	none := nothingDropped(id)
	none.Code = protocol.NamespaceNotFound
	if drop == "" {
		var err error
		if drop, err = d.newestDrop(ctx, id, auth.Namespace(id)); protocol.HasCode(err, protocol.TableNotFound) {
			return nil, "", none
		} else if err != nil {
			return nil, "", err
		}
	}
	record := new(stored.Namespace)
	etag, found, err := d.names.Store.Find(ctx, keys.Namespace(keys.DroppedID(drop)), record)
	if err != nil {
		return nil, "", err
	}
	if !found || record.Dropped == nil || !slices.Equal(record.Dropped.ID, id) || !auth.Sees(ctx, auth.Namespace(id)) {
		return nil, "", none
	}
	return record, etag, nil
}
