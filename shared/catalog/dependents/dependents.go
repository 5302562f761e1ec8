// Package dependents keeps the list of the views that read a table, in the record of that table, their source.
//
// A view is a record of a table with one more field. Its source, the table that it reads, lists it as a dependent. The two
// records are changed one after the other: a view is entered in its source before it is created, and removed there after
// it was dropped. So a crash may leave an entry without a view, which does no harm and is removed when the list is full,
// but never a view that its source does not list.
//
// A source may be dropped or renamed. Its views then have no source until a table of that name exists again. A refresh
// enters the view ([Enter]) in a source that does not list it because it was created, or created again, after the view.
package dependents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// MaxDepth bounds the chain of views that read each other.
const MaxDepth = 16

// CheckCycle follows the chain of sources of a view. The error is InvalidInput if the view would read itself, or if the
// chain is longer than MaxDepth.
func CheckCycle(ctx context.Context, names *naming.Registry, id, source []string) error {
	ctx = auth.Unlimited(ctx)
	for range MaxDepth {
		if slices.Equal(id, source) {
			return protocol.Errorf(protocol.InvalidInput, "view %s would read itself", keys.Display(id))
		}
		found, err := names.Settled(ctx, source)
		if err != nil || found.Record == nil || found.Record.View == nil || len(found.Record.View.Source) == 0 {
			return err
		}
		source = found.Record.View.Source
	}
	return protocol.Errorf(protocol.InvalidInput, "view %s would lie upon %d others, which is more than allowed", keys.Display(id), MaxDepth)
}

// Enter adds a view to the dependents of its source. The error is InvalidInput if the source already has the maximum
// number of views.
func Enter(ctx context.Context, names *naming.Registry, id []string, v *stored.View) error {
	return change(ctx, names, v.Source, func(ctx context.Context, old []stored.Dependent) ([]stored.Dependent, error) {
		if len(old) >= stored.MaxDependents {
			var err error
			if old, err = living(ctx, names, old); err != nil {
				return nil, err
			}
		}
		if len(old) >= stored.MaxDependents {
			return nil, protocol.Errorf(protocol.InvalidInput, "table %s has %d views, which is the most that it may have", keys.Display(v.Source), len(old))
		}
		return append(slices.Clone(old), stored.Dependent{ID: id, UID: v.UID, Kind: v.Kind, Auto: v.Auto}), nil
	})
}

// living returns the dependents that exist.
func living(ctx context.Context, names *naming.Registry, all []stored.Dependent) ([]stored.Dependent, error) {
	var kept []stored.Dependent
	for _, d := range all {
		found, err := names.Settled(ctx, d.ID)
		if err != nil {
			return nil, err
		}
		if found.Soon || found.Record != nil && found.Record.View != nil && found.Record.View.UID == d.UID {
			kept = append(kept, d)
		}
	}
	return kept, nil
}

// Leave removes a view from the dependents of its source. It ignores failures, because a
// superfluous entry does no harm.
func Leave(ctx context.Context, names *naming.Registry, v *stored.View) {
	_ = change(context.WithoutCancel(ctx), names, v.Source, func(_ context.Context, old []stored.Dependent) ([]stored.Dependent, error) {
		return slices.DeleteFunc(slices.Clone(old), func(d stored.Dependent) bool { return d.UID == v.UID }), nil
	})
}

// Rename changes the name of a view in the dependents of its source. It ignores failures; the
// source then does not protect the view.
func Rename(ctx context.Context, names *naming.Registry, view *stored.Table) {
	_ = change(context.WithoutCancel(ctx), names, view.View.Source, func(_ context.Context, old []stored.Dependent) ([]stored.Dependent, error) {
		changed := slices.Clone(old)
		for i, d := range changed {
			if d.UID == view.View.UID {
				changed[i].ID = view.ID
			}
		}
		return changed, nil
	})
}

// change replaces the dependents of a table by the result of a function.
func change(ctx context.Context, names *naming.Registry, id []string, change func(ctx context.Context, old []stored.Dependent) ([]stored.Dependent, error)) error {
	ctx = auth.Unlimited(ctx)
	_, _, err := names.Change(ctx, id, func(record *stored.Table) (changes bool, err error) {
		old := record.Dependents
		record.Dependents, err = change(ctx, old)
		return !slices.EqualFunc(record.Dependents, old, stored.Dependent.Equal), err
	})
	return err
}

// Warning returns a warning for the caller who drops a table: it names the views that read the
// table and that the caller may see. It is "" if there are none.
func Warning(ctx context.Context, all []stored.Dependent) string {
	var names []string
	for _, d := range all {
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

// maxWarned bounds the views that a warning names.
const maxWarned = 10
