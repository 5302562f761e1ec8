package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A view is a record of a table with one more field. Its source, the table that it reads, lists it as
// a dependent. The two records are changed one after the other: a view is entered in its source before
// it exists, and leaves it after it is gone. So a crash leaves a dependent without a view, which does
// no harm and is removed when the place is needed, and never a view that its source does not know.
//
// A source may be dropped or renamed. Its views then have no source until a table of that name
// exists again. A refresh enters a view in a source that does not list it ([Catalog.EnterView]): one that was
// made after the view, or again.

// maxViewDepth is how many views may lie upon each other.
const maxViewDepth = 16

// A NewView is a view to create.
type NewView struct {
	Kind   stored.ViewKind
	Source []string          // empty when it is not known
	Digest string            // as in stored.View
	By     *auth.Principal   // as in stored.View
	Auto   bool              // as in stored.View
	Plain  *stored.PlainView // of a plain view
	// Later leaves it to the first refresh to check the source, which need not exist yet.
	Later bool
	// Location and Hint are those of [Catalog.CreateTable]. A plain view has none.
	Location objectstore.Location
	Hint     uint64
}

// CreateView gives a name to a view. A taken name is TableAlreadyExists, a missing source
// TableNotFound. A view that would read itself through other views is InvalidInput, and so is one
// upon too many others, or one more of too many views of its source. With Later there are no errors about the
// source.
func (c *Catalog) CreateView(ctx context.Context, id []string, v NewView) (*stored.View, error) {
	if keys.IsRoot(id) {
		return nil, &protocol.Error{Code: protocol.InvalidInput, Message: "a view needs a name"}
	}
	enters := len(v.Source) > 0 && !v.Later
	if enters {
		if err := c.checkCycle(ctx, id, v.Source); err != nil {
			return nil, err
		}
	}
	record := c.names.NewTable(id, v.Location, v.Hint, nil)
	if v.Kind == stored.Plain {
		record.Location, record.Claim = "", ""
	}
	record.View = &stored.View{Kind: v.Kind, UID: objects.NewUID(), Source: v.Source, Digest: v.Digest, By: v.By, Auto: v.Auto, Plain: v.Plain}
	if enters {
		if err := c.addDependent(ctx, record); err != nil {
			return nil, err
		}
	}
	if _, err := c.putRecord(ctx, record, false); err != nil {
		if enters && !isUnsettled(err) { // else the view may exist
			c.dropDependent(ctx, record.View)
		}
		return nil, err
	}
	return record.View, nil
}

// EnterView enters a view in its source, unless the source lists it already. The error is InvalidInput when the
// view reads itself through others. A failure to write is ignored, since the next refresh tries again.
func (c *Catalog) EnterView(ctx context.Context, id []string, v *stored.View, source *Table) error {
	if slices.ContainsFunc(source.Dependents, func(d stored.Dependent) bool { return d.UID == v.UID }) {
		return nil
	}
	if err := c.checkCycle(ctx, id, source.ID); err != nil {
		return err
	}
	_ = c.addDependent(ctx, &stored.Table{ID: id, View: v})
	return nil
}

func isUnsettled(err error) bool { return protocol.HasCode(err, protocol.ServiceUnavailable) }

// View returns what the record of a view holds. The error is TableNotFound, NamespaceNotFound, or
// InvalidInput for a table that is not a view of the kind.
func (c *Catalog) View(ctx context.Context, id []string, kind stored.ViewKind) (*stored.Table, error) {
	record, _, err := c.names.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	return record, wantView(record, kind)
}

// wantView returns the error for a record that is not one of a view of the kind.
func wantView(record *stored.Table, kind stored.ViewKind) error {
	if record.View == nil || record.View.Kind != kind {
		return protocol.Errorf(protocol.InvalidInput, "%s is not a %s", keys.Display(record.ID), kind.Describe())
	}
	return nil
}

// DropView removes a view of a kind, as [Catalog.DropTable] does a table, and returns its table. Another
// table of the name is InvalidInput.
func (c *Catalog) DropView(ctx context.Context, id []string, kind stored.ViewKind) (*Table, error) {
	return c.drop(ctx, id, "", func(record *stored.Table) error { return wantView(record, kind) })
}

// DependentsWarning returns a text for the caller who drops the table, about the views that read it and
// that the caller may see; "" when there are none.
func (t *Table) DependentsWarning(ctx context.Context) string {
	if t == nil {
		return ""
	}
	var names []string
	for _, d := range t.Dependents {
		if auth.Sees(ctx, auth.Table(d.ID)) {
			names = append(names, keys.Display(d.ID))
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := strings.Join(names[:min(len(names), maxWarned)], ", ")
	if len(names) > maxWarned {
		text += fmt.Sprintf(" and %d more", len(names)-maxWarned)
	}
	return "these views read it, and have no source now: " + text
}

// maxWarned is how many views a warning names.
const maxWarned = 10

// notPlain returns the error for a plain view where a table is needed.
func notPlain(record *stored.Table) error {
	if record.View == nil || record.View.Kind != stored.Plain {
		return nil
	}
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: fmt.Sprintf("%s is a view", keys.Display(record.ID)),
		Detail: "a view has no rows of its own; only queries of rows accept it", Err: &isPlain{record.View},
	}
}

// isPlain is the cause of errors about plain views.
type isPlain struct{ view *stored.View }

func (*isPlain) Error() string { return "view without rows" }

// PlainView returns the view that an error is about, which says that a plain view is where a table is
// needed; nil for other errors.
func PlainView(err error) *stored.View {
	var plain *isPlain
	if errors.As(err, &plain) {
		return plain.view
	}
	return nil
}

// checkCycle follows the sources of a new view.
func (c *Catalog) checkCycle(ctx context.Context, id, source []string) error {
	ctx = auth.Unlimited(ctx)
	for range maxViewDepth {
		if slices.Equal(id, source) {
			return protocol.Errorf(protocol.InvalidInput, "view %s would read itself", keys.Display(id))
		}
		found, err := c.names.Settled(ctx, source)
		if err != nil || found.Record == nil || found.Record.View == nil || len(found.Record.View.Source) == 0 {
			return err
		}
		source = found.Record.View.Source
	}
	return protocol.Errorf(protocol.InvalidInput, "view %s would lie upon %d others, which is more than allowed", keys.Display(id), maxViewDepth)
}

// addDependent enters a view in the record of its source.
func (c *Catalog) addDependent(ctx context.Context, view *stored.Table) error {
	v := view.View
	return c.changeDependents(ctx, v.Source, func(ctx context.Context, old []stored.Dependent) ([]stored.Dependent, error) {
		if len(old) >= stored.MaxDependents {
			var err error
			if old, err = c.living(ctx, old); err != nil {
				return nil, err
			}
		}
		if len(old) >= stored.MaxDependents {
			return nil, protocol.Errorf(protocol.InvalidInput, "table %s has %d views, which is the most that it may have", keys.Display(v.Source), len(old))
		}
		return append(slices.Clone(old), stored.Dependent{ID: view.ID, UID: v.UID, Kind: v.Kind, Auto: v.Auto}), nil
	})
}

// living returns the dependents that exist.
func (c *Catalog) living(ctx context.Context, all []stored.Dependent) ([]stored.Dependent, error) {
	var kept []stored.Dependent
	for _, d := range all {
		found, err := c.names.Settled(ctx, d.ID)
		if err != nil {
			return nil, err
		}
		if found.Soon || found.Record != nil && found.Record.View != nil && found.Record.View.UID == d.UID {
			kept = append(kept, d)
		}
	}
	return kept, nil
}

// dropDependent removes a view from the record of its source. It ignores failures: an entry too many
// does no harm.
func (c *Catalog) dropDependent(ctx context.Context, v *stored.View) {
	_ = c.changeDependents(context.WithoutCancel(ctx), v.Source, func(_ context.Context, old []stored.Dependent) ([]stored.Dependent, error) {
		return slices.DeleteFunc(slices.Clone(old), func(d stored.Dependent) bool { return d.UID == v.UID }), nil
	})
}

// renameDependent gives a view its new name in the record of its source. It ignores failures:
// the view then is one that its source does not protect.
func (c *Catalog) renameDependent(ctx context.Context, view *stored.Table) {
	_ = c.changeDependents(context.WithoutCancel(ctx), view.View.Source, func(_ context.Context, old []stored.Dependent) ([]stored.Dependent, error) {
		changed := slices.Clone(old)
		for i, d := range changed {
			if d.UID == view.View.UID {
				changed[i].ID = view.ID
			}
		}
		return changed, nil
	})
}

// changeDependents changes the dependents of a table.
func (c *Catalog) changeDependents(ctx context.Context, id []string, change func(ctx context.Context, old []stored.Dependent) ([]stored.Dependent, error)) error {
	ctx = auth.Unlimited(ctx)
	for attempt := range objects.ManyTries {
		record, etag, err := c.names.Table(ctx, id)
		if err != nil {
			return err
		}
		changed := *record
		if changed.Dependents, err = change(ctx, record.Dependents); err != nil {
			return err
		}
		if slices.EqualFunc(changed.Dependents, record.Dependents, stored.Dependent.Equal) {
			return nil
		}
		_, err = c.store.Write(ctx, keys.Table(id), &changed, objectstore.Condition{IfMatch: etag})
		if !objects.Changed(err) {
			return err
		}
		if err := objects.Pause(ctx, attempt); err != nil {
			return err
		}
	}
	return objects.LostRace("table", id, objectstore.ErrPrecondition)
}

// AdoptView makes the record of a table that of a materialized view with a definition: other programs make such
// tables, and then register them here, or change the definition of a view. Callers then enter the view in its source
// ([Catalog.EnterView]). A view that would read itself through others is InvalidInput, and so is a plain view.
func (c *Catalog) AdoptView(ctx context.Context, t *Table, adopt NewView) (*stored.View, error) {
	if err := c.checkCycle(ctx, t.ID, adopt.Source); err != nil {
		return nil, err
	}
	var former *stored.View
	v := &stored.View{Kind: stored.Materialized, Source: adopt.Source, Digest: adopt.Digest, By: adopt.By, Auto: adopt.Auto}
	err := c.changeTable(ctx, t, func(r *stored.Table) bool {
		former = r.View
		if v.UID = objects.NewUID(); former != nil {
			v.UID = former.UID
		}
		r.View = v
		return true
	})
	if err != nil {
		return nil, err
	}
	if former != nil && !slices.Equal(former.Source, v.Source) {
		c.dropDependent(ctx, former)
	}
	return v, nil
}
