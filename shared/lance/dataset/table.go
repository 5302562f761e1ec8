package dataset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
)

// A Table is the storage location of a table's versions. It is cheap to create and safe for
// concurrent use.
type Table struct {
	session *Session
	at      snapshot.Place
	hint    uint64       // a version that existed once, or 0
	branch  *branchOf    // nil for the main table
	publish Publisher    // nil: a conditional put
	confirm func() error // nil: no check; see ConfirmWith

	commitID func() string // nil: a new UUID for each commit
	held     bool          // the caller holds the table's turn; see Hold
	sole     bool          // the location is exclusive; see Sole
}

// Sole returns a view of a table with an exclusive location, which no other table will ever use. At
// other locations a writer may drop the table and create another one with the same version numbers,
// so each use of a cached version first checks that it still exists. For an exclusive table this
// check is cached for one second; local storage is always checked.
func (t *Table) Sole() *Table {
	sole := *t
	sole.sole = true
	return &sole
}

// A Publisher creates the manifest of a version at its usual name, like a conditional put. It
// returns objectstore.ErrPrecondition if the version exists.
type Publisher func(ctx context.Context, version uint64, scheme manifest.Scheme, file []byte) (objectstore.Info, error)

// PublishWith returns a view of the table whose versions are created by publish. Its branches still
// use conditional puts.
func (t *Table) PublishWith(publish Publisher) *Table {
	published := *t
	published.publish = publish
	return &published
}

// ConfirmWith returns a view of the table that calls confirm before each commit, while the files
// become durable. An error ends the commit; an example is a location that no longer belongs to its
// name. Earlier confirm functions run first. Branches do not inherit them.
func (t *Table) ConfirmWith(confirm func() error) *Table {
	confirming := *t
	confirming.confirm = func() error {
		if err := t.Confirm(); err != nil {
			return err
		}
		return confirm()
	}
	return &confirming
}

// Confirm runs the functions given to ConfirmWith.
func (t *Table) Confirm() error {
	if t.confirm == nil {
		return nil
	}
	return t.confirm()
}

// CommitAs returns a view of the table that calls id for the UUID of each transaction. Use it for
// changes that may be retried; see package commitlog. A version with the same UUID, made since the
// commit began, counts as the commit itself.
func (t *Table) CommitAs(id func() string) *Table {
	named := *t
	named.commitID = id
	return &named
}

// isPlain reports whether the table has none of the options of its views.
func (t *Table) isPlain() bool {
	return t.publish == nil && t.confirm == nil && t.commitID == nil && !t.held && t.at.Reach == nil
}

// plain returns the table without options. Cached versions refer to it, because all views share
// them.
func (t *Table) plain() *Table {
	if t.isPlain() {
		return t
	}
	plain := *t
	plain.publish, plain.confirm, plain.commitID, plain.held, plain.at.Reach = nil, nil, nil, false, nil
	return &plain
}

// own returns a shared version as one of this view, so that commits on it use the view's options.
func (t *Table) own(d *Dataset) *Dataset {
	if d == nil || t.isPlain() {
		return d
	}
	own := *d
	own.table, own.Snapshot = t, d.ReachWith(t.at.Reach)
	return &own
}

// Place returns the table's location on storage and in the session's cache.
func (t *Table) Place() snapshot.Place { return t.at }

// Now returns the time of the session's clock.
func (t *Table) Now() time.Time { return t.session.now() }

// ErrNoTable reports that the location holds no version.
var ErrNoTable = errors.New("no table at this location")

// ErrNoVersion reports that the table has no version of the number.
var ErrNoVersion = errors.New("no such version")

// A noVersion is an ErrNoVersion that names the version. Its text is made only when it is read, because it ends each search
// for the newest version.
type noVersion struct {
	version uint64
	uri     string
}

func (e *noVersion) Error() string {
	return fmt.Sprintf("%v: %d of %s", ErrNoVersion, e.version, e.uri)
}

func (e *noVersion) Unwrap() error { return ErrNoVersion }

// A known value holds the newest version that this process has seen. To check that no newer version
// exists, the process requests version N+1. In parallel it checks that N still exists unchanged,
// because a cleanup may have deleted both, or another table may have replaced this one. For an
// exclusive table the second check is cached. A listing is repeated from time to time, because a
// cleanup keeps tagged versions: N may exist although N+1 was deleted.
type known struct {
	dataset *Dataset
	seen    time.Time // when the version was last seen to exist
	listed  time.Time // the time of the last listing that had it as the newest
}

// A regular cleanup keeps versions for days. These limits bound how long a forced cleanup can hide
// newer versions.
const (
	maxSeenAge  = time.Second
	maxProbeAge = manifest.ReadFor
)

// latestPart is the cache key of the newest known version.
const latestPart = "latest"

// Latest opens the newest version, or returns ErrNoTable.
func (t *Table) Latest(ctx context.Context) (*Dataset, error) {
	d, err := t.latest(ctx)
	if err != nil {
		return nil, err
	}
	return t.opened(ctx, d)
}

// latest opens the newest version without the access check.
func (t *Table) latest(ctx context.Context) (*Dataset, error) {
	if k, ok := t.known(); ok {
		return t.probe(ctx, k)
	}
	return t.list(ctx)
}

// known returns the newest version in the cache, unless its listing is too old.
func (t *Table) known() (known, bool) {
	k, ok := cache.Get[known](t.session.Cache, t.at.Cached, latestPart)
	if !ok || t.session.now().Sub(k.listed) > maxProbeAge {
		return known{}, false
	}
	return k, true
}

// remember makes a version the newest known.
func (t *Table) remember(k known) {
	t.keep(latestPart, k, k.dataset)
}

// maxListings bounds how often a listing is repeated because its newest version was gone before it
// was read.
const maxListings = 4

// list finds the newest version by listing. It lists again if that version is deleted before it is
// read: newer ones exist, or the table was dropped.
func (t *Table) list(ctx context.Context) (*Dataset, error) {
	for range maxListings - 1 {
		if d, err := t.listOnce(ctx); !errors.Is(err, ErrNoVersion) {
			return d, err
		}
	}
	return t.listOnce(ctx)
}

// listOnce finds the newest version by one listing. In parallel it reads the hinted version, which
// most often is the newest.
func (t *Table) listOnce(ctx context.Context) (*Dataset, error) {
	at := t.session.now()
	ahead := make(chan *Dataset, 1)
	if t.hint > 0 {
		go func() {
			d, err := t.load(ctx, t.hint, manifest.V2)
			if err != nil {
				d = nil // if it matters, reading the newest version fails too
			}
			ahead <- d
		}()
	}
	newest, err := manifest.Latest(ctx, t.at.Store, t.at.Prefix)
	switch {
	case errors.Is(err, objectstore.ErrNotExist) && t.branch != nil:
		return nil, fmt.Errorf("%w: %w: %s", refs.ErrNoBranch, ErrNoTable, t.at.URI)
	case errors.Is(err, objectstore.ErrNotExist):
		return nil, fmt.Errorf("%w: %s", ErrNoTable, t.at.URI)
	case err != nil:
		return nil, fmt.Errorf("find the latest version of %s: %w", t.at.URI, err)
	}
	var d *Dataset
	if k, ok := cache.Get[known](t.session.Cache, t.at.Cached, latestPart); ok && k.dataset.Manifest().Location == newest {
		d = k.dataset
	}
	if d == nil && t.hint == newest.Version && newest.Scheme == manifest.V2 {
		if d = <-ahead; d != nil && d.Manifest().Location != newest {
			d = nil
		}
	}
	if d == nil {
		if d, err = t.loadListed(ctx, newest); err != nil {
			return nil, err
		}
	}
	t.remember(known{dataset: d, seen: at, listed: at})
	return d, nil
}

// maxProbes bounds the versions that are read one by one before a listing is cheaper.
const maxProbes = 64

// probe finds the newest version from the newest known: it requests the following versions until
// one does not exist.
func (t *Table) probe(ctx context.Context, k known) (*Dataset, error) {
	there := t.askThere(ctx, &k)
	latest := k.dataset
	for range maxProbes {
		next, err := t.load(ctx, latest.Version()+1, latest.scheme())
		if errors.Is(err, ErrNoVersion) {
			if !there() {
				return t.list(ctx)
			}
			t.remember(known{dataset: latest, seen: k.seen, listed: k.listed})
			return latest, nil
		}
		if err != nil {
			return nil, err
		}
		latest = next
	}
	return t.list(ctx)
}

// Version opens one version, or returns ErrNoVersion. A detached version, which is not part of the
// history, is opened by its number too.
func (t *Table) Version(ctx context.Context, version uint64) (*Dataset, error) {
	d, err := t.version(ctx, version)
	if err != nil {
		return nil, err
	}
	return t.opened(ctx, d)
}

// version opens a version without the access check. It tries both naming schemes.
func (t *Table) version(ctx context.Context, version uint64) (*Dataset, error) {
	for _, scheme := range schemesOf(version) {
		if d, err := t.load(ctx, version, scheme); !errors.Is(err, ErrNoVersion) {
			return d, err
		}
	}
	return nil, fmt.Errorf("%w: %d of %s", ErrNoVersion, version, t.at.URI)
}

// Has reports whether a version that was read still exists on storage. A cleanup or a drop may have
// deleted it. If it is gone or replaced, Has also removes it from the cache.
func (t *Table) Has(ctx context.Context, d *Dataset) (bool, error) {
	same, err := t.isThere(ctx, d)
	if same || err != nil && !errors.Is(err, ErrNoVersion) {
		return same, err
	}
	if k, ok := cache.Get[known](t.session.Cache, t.at.Cached, latestPart); ok && sameManifest(k.dataset, d) {
		t.session.Cache.Drop(t.at.Cached, latestPart)
	}
	return false, nil
}

// Info returns the stored manifest object of a version, or ErrNoVersion.
func (t *Table) Info(ctx context.Context, version uint64) (objectstore.Info, error) {
	for _, scheme := range schemesOf(version) {
		key := manifest.Key(t.at.Prefix, version, scheme)
		_, info, err := t.at.Store.GetRanges(ctx, key)
		if !errors.Is(err, objectstore.ErrNotExist) {
			return info, err
		}
		t.session.Cache.Drop(t.at.Cached, datasetPart(key))
	}
	return objectstore.Info{}, fmt.Errorf("%w: %d of %s", ErrNoVersion, version, t.at.URI)
}

// schemesOf returns the naming schemes that a version's manifest may have.
func schemesOf(version uint64) []manifest.Scheme {
	if manifest.IsDetached(version) {
		return []manifest.Scheme{manifest.Detached}
	}
	return []manifest.Scheme{manifest.V2, manifest.V1}
}
