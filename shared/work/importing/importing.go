// Package importing gives names in a catalog to tables that other programs have written to a directory or a bucket. The
// data stay where they are, and so do the files of the other programs.
//
// It knows two layouts of tables in a folder:
//
//   - LanceDB, and the first directory namespace, keep the table "people" in the folder people.lance (find.go).
//   - The second directory namespace also keeps a Lance table __manifest, with a row for each
//     namespace and each table, which contains the table's folder (manifest.go).
//
// The import skips an item whose name already refers to that location, or whose location already has another name. A
// second import therefore changes nothing, even if tables have been renamed meanwhile. Begin with [Run].
package importing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// An Outcome is the result for one item.
type Outcome string

// The outcomes.
const (
	Imported Outcome = "imported" // the item has its name now, or in a dry run would have
	There    Outcome = "there"    // the item had a name already
	Skipped  Outcome = "skipped"  // the item cannot be imported; Reason explains why
)

// A Result describes one item and its outcome.
type Result struct {
	Outcome Outcome
	Kind    string   // "namespace" or "table"
	ID      []string // the name in the catalog
	Place   string   // URI of a table's folder; if its location is invalid, the text of the location
	Reason  string   // why it was skipped
}

// Options select the tables to import, and the catalog.
type Options struct {
	Objects *objectstore.Roots // the catalog is in the home root
	Now     func() time.Time
	// Place is the folder to import from: an absolute path or a URI, of one of the roots or of a
	// location below one.
	Place string
	// DryRun reports what an import would do, and writes nothing.
	DryRun bool
	// Progress, which may be nil, is called before each item with the number of processed items and the
	// total.
	Progress func(done, of int)
}

// Run imports all items and passes each result to tell, namespaces before their content. It stops
// early only if the storage fails.
func Run(ctx context.Context, opts Options, tell func(Result)) error {
	a := &importer{
		Options: opts,
		names:   catalog.Open(opts.Objects, opts.Now),
		rows:    engine.New(dataset.NewSession(cacheBytes, opts.Now), engine.Limits{}),
		made:    map[string]bool{},
	}
	from, err := openFolder(opts.Objects, opts.Place)
	if err != nil {
		return err
	}
	found, err := a.find(ctx, from)
	if err != nil {
		return err
	}
	if a.named, err = namedPlaces(ctx, a.names); err != nil {
		return err
	}
	for i, item := range found {
		if a.Progress != nil {
			a.Progress(i, len(found))
		}
		result, err := a.name(ctx, item)
		if err != nil {
			return fmt.Errorf("import %s %s: %w", item.kind, protocol.JoinID(item.id, protocol.DefaultDelimiter), err)
		}
		tell(result)
	}
	return nil
}

// cacheBytes bounds the cached parts of tables, which are mostly manifests.
const cacheBytes = 64 << 20

// An importer is the state of one run.
type importer struct {
	Options
	names *catalog.Catalog
	rows  *engine.Engine
	named map[string][]string // ids of the catalog's tables, by location
	made  map[string]bool     // joined ids of namespaces that a dry run would have made
}

// An item is a namespace or table to import.
type item struct {
	kind       string
	id         []string
	at         objectstore.Location // of a table
	place      string               // the canonical URI of the location, or its text if it cannot be used
	properties map[string]string
	declared   bool   // the table may have no data yet
	forgotten  bool   // this catalog created the folder, but no name refers to it
	problem    string // why it cannot be imported
}

const (
	namespaceKind = "namespace"
	tableKind     = "table"
)

// name gives one item its name. It returns an error only if the storage fails; a problem of the
// item itself is part of the result.
func (a *importer) name(ctx context.Context, it item) (Result, error) {
	result := Result{Kind: it.kind, ID: it.id, Place: it.place, Outcome: Skipped, Reason: it.problem}
	if it.problem == "" {
		if err := errors.Join(protocol.CheckID(it.id), protocol.CheckProperties(it.properties)); err != nil {
			result.Reason = err.Error()
		}
	}
	if result.Reason != "" {
		return result, nil
	}
	var err error
	if it.kind == namespaceKind {
		result.Outcome, err = a.adoptNamespace(ctx, it)
	} else {
		err = a.adoptTable(ctx, it, &result)
	}
	var known *protocol.Error
	// An error of the item itself, such as a taken name, skips only this item.
	if errors.As(err, &known) && known.Code != protocol.Internal && known.Code != protocol.ServiceUnavailable {
		result.Outcome, result.Reason, err = Skipped, known.Text(), nil
	}
	return result, err
}

// adoptNamespace creates a namespace, unless it exists.
func (a *importer) adoptNamespace(ctx context.Context, it item) (Outcome, error) {
	_, err := a.names.Namespaces.Get(ctx, it.id)
	switch {
	case err == nil:
		return There, nil
	case protocol.CodeOf(err) != protocol.NamespaceNotFound:
		return Skipped, err
	}
	if a.DryRun {
		a.made[strings.Join(it.id, "$")] = true
		return Imported, a.checkParent(ctx, it.id)
	}
	_, err = a.names.Namespaces.Create(ctx, it.id, it.properties, namespaces.FailIfExists)
	return Imported, err
}

// checkParent checks, in a dry run, that the parent namespace exists or would have been
// created.
func (a *importer) checkParent(ctx context.Context, id []string) error {
	parent := id[:len(id)-1]
	if a.made[strings.Join(parent, "$")] {
		return nil
	}
	_, err := a.names.Namespaces.Get(ctx, parent)
	return err
}

// adoptTable gives a table its name, unless its location has one.
func (a *importer) adoptTable(ctx context.Context, it item, result *Result) error {
	if id, ok := a.named[it.at.URI]; ok {
		result.Outcome, result.ID = There, id
		return nil
	}
	if it.forgotten {
		result.Reason = "this catalog made it and has no name for it: deregistered, or left behind by a create or a drop"
		return nil
	}
	hint, err := a.open(ctx, it, result)
	if err != nil || result.Reason != "" {
		return err
	}
	location, err := a.names.Places.Planned(ctx, it.id, it.at.URI)
	if err != nil {
		return err
	}
	if err := a.checkFree(ctx, it, result); err != nil || result.Reason != "" {
		return err
	}
	// Joins permits that the location has other names already, for tables that have data.
	if !a.DryRun {
		_, err := a.names.RegisterTable(ctx, it.id, catalog.Registration{Location: location, Hint: hint, Properties: it.properties, Joins: hint > 0})
		if err != nil {
			return err
		}
	}
	a.named[it.at.URI], result.Outcome = it.id, Imported
	return nil
}

// open checks that the table can be opened. It returns its newest version, or 0 if the table is
// only declared.
func (a *importer) open(ctx context.Context, it item, result *Result) (version uint64, err error) {
	version, err = a.rows.Table(it.id, it.at).Newest(ctx)
	switch {
	case err == nil || engine.IsDeclared(err) && it.declared:
		return version, nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case engine.IsDeclared(err):
		result.Reason = "its folder holds no version of a Lance table"
	default:
		result.Reason = "it cannot be opened: " + err.Error()
	}
	return 0, nil
}

// checkFree checks that the name is not in use and that its namespace exists or, in a dry run,
// would exist.
func (a *importer) checkFree(ctx context.Context, it item, result *Result) error {
	there, err := a.names.Table(ctx, it.id)
	switch {
	case err == nil:
		result.Reason = "the name stands for the table at " + there.Location.URI
	case protocol.CodeOf(err) == protocol.NamespaceNotFound && a.DryRun:
		return a.checkParent(ctx, it.id)
	case protocol.CodeOf(err) == protocol.NamespaceNotFound:
		return err
	case protocol.CodeOf(err) != protocol.TableNotFound:
		result.Reason = "its name cannot be looked up: " + err.Error()
	}
	return nil
}

// namedPlaces returns the ids of all tables of the catalog by location.
func namedPlaces(ctx context.Context, names *catalog.Catalog) (map[string][]string, error) {
	ids, err := names.Lists.All(ctx)
	if err != nil {
		return nil, err
	}
	tables := make([]*catalog.Table, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for i, id := range ids {
		group.Go(func() error {
			table, err := names.Table(ctx, id)
			if err != nil && ctx.Err() != nil {
				return err
			}
			tables[i] = table // nil if the table was dropped, or its location is not configured
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	named := map[string][]string{}
	for _, table := range tables {
		if table != nil {
			named[table.Location.URI] = table.ID
		}
	}
	return named, nil
}

// maxReads bounds the records that are read at the same time.
const maxReads = 16

// sortItems sorts namespaces before their content, and items otherwise by id.
func sortItems(items []item) {
	slices.SortStableFunc(items, func(a, b item) int {
		if a.kind != b.kind {
			return strings.Compare(a.kind, b.kind) // "namespace" comes before "table"
		}
		if len(a.id) != len(b.id) {
			return len(a.id) - len(b.id)
		}
		return slices.Compare(a.id, b.id)
	})
}
