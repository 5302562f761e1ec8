// Package doctor reports faults in a root, and repairs the ones that can be repaired without a loss: inconsistent records
// and folders, tables with unreadable versions or files, indices that are damaged or lack many rows, jobs that no worker
// runs, and files of uploads that were never committed. It reads the storage itself, so no server is needed, but one may
// be running. Begin with [Run].
package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/sweep"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/tables"
)

// A Finding is one fault.
type Finding struct {
	Kind   string `json:"kind"`             // short and fixed, such as missing-file
	Object string `json:"object"`           // the name of a table, a folder of the root, or the key of a record
	Reason string `json:"reason,omitempty"` // the fault
	Mend   string `json:"mend"`             // the recommended repair
	// Fixable means that [Options.Fix] repairs the fault, and Fixed that it did.
	Fixable bool `json:"fixable"`
	Fixed   bool `json:"fixed"`
}

// The kinds of findings about tables. Findings about records and folders have the kinds of
// [sweep.FaultKind].
const (
	NoVersion       = "no-version"         // the table had versions before, but has none
	UnreadableTable = "unreadable-table"   // its record has no usable location, or its newest version cannot be read
	UnreadableOld   = "unreadable-version" // an older version cannot be read
	MissingFile     = "missing-file"       // a data file of the newest version does not exist
	OutOfReach      = "out-of-reach"       // files of the newest version, of the table or a branch, are at a location that the table may not read
	DamagedIndex    = "damaged-index"      // its entry cannot be read, or files are missing
	StaleIndex      = "stale-index"        // the index lacks more than a tenth of the rows
)

const (
	maxVersions = 100 // the number of versions of a table that are checked, newest first
	staleFactor = 10  // an index is stale if it lacks more than 1/staleFactor of the rows
)

// Options select the checks.
type Options struct {
	Tables tables.Tables
	// Home is the store of the home root. If it is nil, unfinished objects and the log of events are not checked.
	Home objectstore.Store
	Fix  bool // repair faults that can be repaired without a loss
	// Progress, which may be nil, is called before each table with the number of checked tables and the
	// total.
	Progress func(done, of int)
}

// Run checks the home root and passes each finding to tell. It stops early only if the storage
// fails.
func Run(ctx context.Context, opts Options, tell func(Finding)) error {
	d := &doctor{Options: opts, tell: tell}
	ids, err := d.catalog(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(ids, slices.Compare)
	for i, id := range ids {
		if d.Progress != nil {
			d.Progress(i, len(ids))
		}
		if err := d.table(ctx, id); err != nil {
			return fmt.Errorf("look at table %s: %w", protocol.JoinID(id, protocol.DefaultDelimiter), err)
		}
	}
	for _, look := range []func(context.Context) error{d.jobs, d.uploads, d.parts, d.records, d.events} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// doctor is the state of one run.
type doctor struct {
	Options
	tell func(Finding)
}

// mends are the recommended repairs of faults in the catalog.
var mends = map[sweep.FaultKind]string{
	sweep.DamagedRecord: "put the record back from a backup, or delete it: its table then has no name, and tiltyard table register gives it one",
	sweep.NewerRecord:   "examine the root with the release that wrote the record",
	sweep.OrphanRecord:  "--fix removes it when it is an hour old; create the namespace again to keep it",
	sweep.OrphanFolder:  "--fix deletes its files, which belong to no table",
	sweep.UnknownFolder: "tiltyard import gives it a name",
	sweep.ExpiredDrop:   "--fix deletes its files; the time in which it could be restored is over",
}

// catalog checks records and folders. It returns the ids of the tables.
func (d *doctor) catalog(ctx context.Context) (ids [][]string, err error) {
	names := d.Tables.Names
	faults, ids, err := names.Sweeper.Examine(ctx)
	if err != nil {
		return nil, err
	}
	swept := false
	for _, fault := range faults {
		found := findingOf(fault)
		switch {
		case d.Fix && sweeps(fault):
			swept = true
			continue
		case d.Fix && found.Fixable:
			if err := names.Sweeper.DeleteFolder(ctx, fault.Object); err != nil {
				return nil, fmt.Errorf("delete %s: %w", fault.Object, err)
			}
			found.Fixed = true
		}
		d.tell(found)
	}
	if !swept {
		return ids, nil
	}
	var unswept *objects.Unswept // the unswept rest is reported as a fault, or in left
	if _, err := names.Sweeper.Sweep(ctx, objects.MinSweepAge); err != nil && !errors.As(err, &unswept) {
		return nil, err
	}
	left, ids, err := names.Sweeper.Examine(ctx) // left contains faults that are too young for a sweep
	if err != nil {
		return nil, err
	}
	for _, fault := range faults {
		if sweeps(fault) {
			found := findingOf(fault)
			found.Fixed = !slices.Contains(left, fault)
			d.tell(found)
		}
	}
	return ids, nil
}

// sweeps reports whether a sweep of the catalog repairs a fault.
func sweeps(fault sweep.Fault) bool {
	return fault.Kind == sweep.OrphanRecord || fault.Kind == sweep.ExpiredDrop
}

func findingOf(fault sweep.Fault) Finding {
	return Finding{
		Kind: string(fault.Kind), Object: fault.Object, Reason: fault.Reason, Mend: mends[fault.Kind],
		Fixable: sweeps(fault) || fault.Kind == sweep.OrphanFolder,
	}
}

// table checks one table.
func (d *doctor) table(ctx context.Context, id []string) error {
	name := protocol.JoinID(id, protocol.DefaultDelimiter)
	found, err := d.Tables.Names.Table(ctx, id)
	if protocol.HasCode(err, protocol.TableNotFound) || protocol.HasCode(err, protocol.NamespaceNotFound) {
		return nil // dropped meanwhile, or an orphan, which is already reported
	}
	if err != nil {
		d.tell(Finding{Kind: UnreadableTable, Object: name, Reason: err.Error(), Mend: "if its location is the reason, give it to --allow-location"})
		return nil //nolint:nilerr // the finding says it
	}
	rows := d.Tables.At(found)
	err = engine.Do(ctx, rows, nil, func(ctx context.Context, version *dataset.Dataset) error {
		return d.version(ctx, name, version)
	})
	switch {
	case ctx.Err() != nil:
		return err
	case engine.IsDeclared(err) && found.Hint > 0:
		d.tell(Finding{
			Kind: NoVersion, Object: name, Reason: fmt.Sprintf("version %d is known, and there is none in %s", found.Hint, found.Location.URI),
			Mend: "put its files back from a backup, or drop the table",
		})
		return nil
	case engine.IsDeclared(err):
		return nil
	case protocol.HasCode(err, protocol.PermissionDenied):
		d.tell(notLent(name, err))
	case err != nil:
		d.tell(Finding{Kind: UnreadableTable, Object: name, Reason: err.Error(), Mend: "put its files back from a backup, or restore an older version; tiltyard inspect shows what can be read"})
	}
	if err := d.versions(ctx, name, rows); err != nil {
		return err
	}
	if err := d.branches(ctx, name, rows); err != nil {
		return err
	}
	return d.left(ctx, name, rows)
}

// version checks the files and indices of the newest version of a table.
func (d *doctor) version(ctx context.Context, name string, v *dataset.Dataset) error {
	store, prefix := v.Main()
	there, err := keysBelow(ctx, store, prefix+"/data/")
	if err != nil {
		return err
	}
	for _, fragment := range v.Manifest().Fragments {
		for _, file := range fragment.Files {
			// Files with a base id are outside of the table; reach checks their locations.
			if file.BaseID == nil && !there[file.Path] {
				d.tell(Finding{
					Kind: MissingFile, Object: name, Reason: fmt.Sprintf("fragment %d lacks data/%s", fragment.ID, file.Path),
					Mend: "put the file back from a backup, or restore an older version of the table",
				})
			}
		}
	}
	if err := d.reach(name, v); err != nil {
		return err
	}
	return d.indices(ctx, name, v)
}

// reach reports files of a version at locations that are not configured.
func (d *doctor) reach(name string, v *dataset.Dataset) error {
	paths, err := v.OutOfReach()
	for _, place := range paths {
		d.tell(Finding{
			Kind: OutOfReach, Object: name, Reason: "it has files below " + place + ", as branches and shallow clones do after the root was moved",
			Mend: "give the place to --allow-location, also of the servers, as long as its files are there",
		})
	}
	return err
}

// notLent returns the finding for a table or a branch that refers to files for which the table
// lends no right, so that each reader needs a right of its own. See catalog.Table.Reads.
func notLent(name string, err error) Finding {
	return Finding{
		Kind: OutOfReach, Object: name, Reason: err.Error(),
		Mend: "callers who may read there read it, and jobs leave it out: register the table again, or copy its rows",
	}
}

// branches checks the newest version of each branch of a table.
func (d *doctor) branches(ctx context.Context, name string, rows *engine.Table) error {
	for after := ""; ; {
		found, next, err := rows.Data().Refs().Branches(ctx, after, maxVersions)
		if err != nil {
			return rows.Translate(err)
		}
		for _, branch := range slices.Sorted(maps.Keys(found)) {
			of := name + ", branch " + branch
			on, err := rows.On(ctx, branch)
			if err == nil {
				err = engine.Do(ctx, on, nil, func(_ context.Context, v *dataset.Dataset) error { return d.reach(of, v) })
			}
			if ctx.Err() != nil {
				return err
			}
			switch {
			case err == nil || protocol.HasCode(err, protocol.TableBranchNotFound): // a missing branch was deleted meanwhile
			case protocol.HasCode(err, protocol.PermissionDenied):
				d.tell(notLent(of, err))
			default:
				d.tell(Finding{Kind: UnreadableTable, Object: of, Reason: err.Error(), Mend: "put its files back from a backup, or delete the branch"})
			}
		}
		if after = next; next == "" {
			return nil
		}
	}
}

// indices checks the indices of a version.
func (d *doctor) indices(ctx context.Context, name string, v *dataset.Dataset) error {
	const again = "create the index again"
	damaged, err := v.DamagedIndices()
	if err != nil {
		return err
	}
	for _, reason := range damaged {
		d.tell(Finding{Kind: DamagedIndex, Object: name, Reason: reason.Error(), Mend: again})
	}
	known, err := v.Indices()
	if err != nil {
		return err
	}
	store, prefix := v.Main()
	for _, index := range known {
		// With base paths, index files may be at other locations.
		if len(v.Manifest().BasePaths) == 0 {
			files, err := store.List(ctx, objectstore.ListOptions{Prefix: prefix + "/_indices/" + index.UUID + "/", Limit: 1})
			if err != nil {
				return err
			}
			if len(files.Objects) == 0 && index.Bytes != 0 {
				d.tell(Finding{Kind: DamagedIndex, Object: name, Reason: fmt.Sprintf("the files of index %s are gone", index.Name), Mend: again})
				continue
			}
		}
		if index.Unindexed*staleFactor > index.Indexed+index.Unindexed {
			d.tell(Finding{
				Kind: StaleIndex, Object: name, Reason: fmt.Sprintf("index %s lacks %d of %d rows, which each search reads", index.Name, index.Unindexed, index.Indexed+index.Unindexed),
				Mend: fmt.Sprintf("tiltyard maintain %s --indices", strings.ReplaceAll(name, protocol.DefaultDelimiter, "/")),
			})
		}
	}
	return nil
}

// versions checks the versions before the newest one.
func (d *doctor) versions(ctx context.Context, name string, rows *engine.Table) error {
	page, err := listing.Versions(ctx, rows.Data(), listing.Request{Descending: true, Limit: maxVersions})
	if err != nil {
		return rows.Translate(err)
	}
	for i, v := range page.Versions {
		if i == 0 {
			continue
		}
		number := int64(v.Number)
		err := engine.Do(ctx, rows, &number, func(context.Context, *dataset.Dataset) error { return nil })
		if ctx.Err() != nil {
			return err
		}
		if err != nil && protocol.CodeOf(err) != protocol.TableVersionNotFound { // a missing version was deleted by a cleanup meanwhile
			d.tell(Finding{
				Kind: UnreadableOld, Object: name, Reason: fmt.Sprintf("version %d, in %s: %v", number, path.Base(v.Key), err),
				Mend: "put the file back from a backup, or delete the version",
			})
		}
	}
	return nil
}

// keysBelow returns the set of keys with a prefix, which it removes.
func keysBelow(ctx context.Context, store objectstore.Store, prefix string) (map[string]bool, error) {
	found := map[string]bool{}
	for object, err := range objectstore.Objects(ctx, store, objectstore.ListOptions{Prefix: prefix, Limit: 1000, KeysOnly: true}) {
		if err != nil {
			return nil, err
		}
		found[strings.TrimPrefix(object.Key, prefix)] = true
	}
	return found, nil
}
