package dataset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/lance/dataset/cache"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// A Table is a place on storage where the versions of a table are. It is cheap to make
// and safe for concurrent use.
type Table struct {
	session *Session
	at      snapshot.Place
	hint    uint64       // a version that it had, or 0
	branch  *branchOf    // nil of a table itself
	publish Publisher    // nil: by putting it
	confirm func() error // nil: see ConfirmWith

	commitID func() string // nil: a new one for each commit
	held     bool          // its commits wait for nobody: see Hold
	sole     bool          // see Sole
}

// Sole returns the table, at a place that was made for it alone and is used for no other one
// after it. Elsewhere any writer may drop the table and create another one, whose versions
// have the same numbers; so each use of a version that is known asks the storage whether it
// is still the one there. Of a sole table that is asked once a second, unless its storage is
// near, where it costs nothing.
func (t *Table) Sole() *Table {
	sole := *t
	sole.sole = true
	return &sole
}

// A Publisher puts the manifest of a version at its usual name, like a put if it is absent of
// an object store: objectstore.ErrPrecondition says that there is such a version already.
type Publisher func(ctx context.Context, version uint64, scheme manifest.Scheme, file []byte) (objectstore.Info, error)

// PublishWith returns the table, whose versions are now made by publish. Its branches make
// theirs as before.
func (t *Table) PublishWith(publish Publisher) *Table {
	published := *t
	published.publish = publish
	return &published
}

// ConfirmWith returns the table, which asks confirm before each of its commits, while the files of
// the commit become durable: an error of confirm, such as that the place does not belong to a name
// any more, ends the commit. Confirms of before are asked first. Branches of the table do not ask.
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

// Confirm asks what ConfirmWith was given.
func (t *Table) Confirm() error {
	if t.confirm == nil {
		return nil
	}
	return t.confirm()
}

// CommitAs returns the table, whose commits are transactions of the id that is asked for when
// they begin. It is for changes that are tried more than once: see package commitlog. Commits
// of one id are one change, so that those that were made since it was begun count as its own.
func (t *Table) CommitAs(id func() string) *Table {
	named := *t
	named.commitID = id
	return &named
}

// isPlain says whether the table commits as any other view of it does.
func (t *Table) isPlain() bool {
	return t.publish == nil && t.confirm == nil && t.commitID == nil && !t.held && t.at.Reach == nil
}

// plain returns the table without what PublishWith, ConfirmWith, CommitAs and Hold say. Versions that are
// kept are of this one: they are shared by all who open them.
func (t *Table) plain() *Table {
	if t.isPlain() {
		return t
	}
	plain := *t
	plain.publish, plain.confirm, plain.commitID, plain.held, plain.at.Reach = nil, nil, nil, false, nil
	return &plain
}

// own returns a version, which is shared, as one of t's: what is committed on it is committed
// as t says.
func (t *Table) own(d *Dataset) *Dataset {
	if d == nil || t.isPlain() {
		return d
	}
	own := *d
	own.table, own.Snapshot = t, d.ReachWith(t.at.Reach)
	return &own
}

// Place returns where the table is on storage and in the cache of the session.
func (t *Table) Place() snapshot.Place { return t.at }

// Now returns the time by the clock of the session.
func (t *Table) Now() time.Time { return t.session.now() }

// ErrNoTable says that there is no version of a table at its place.
var ErrNoTable = errors.New("no table at this location")

// ErrNoVersion says that a table has no such version.
var ErrNoVersion = errors.New("no such version")

// known is the newest version that this process has seen. That there is no version after
// it is found out by asking for just that one, which is the cheapest question to ask. But old
// versions are cleaned up some day, and the next one may be among them while later ones
// are there; or the table was dropped, and another one is there that has not come so far. So
// it is also asked, side by side, whether this one is still there (a cleanup would have taken
// it first) and the same; of a sole table, now and then. And at times the versions are listed
// (a cleanup leaves those that have tags).
type known struct {
	dataset *Dataset
	seen    time.Time // when this version was last known to be there
	listed  time.Time // when a listing last said that it is the newest
}

// Cleanups that keep to the format's rules leave versions alone for days; these bound
// what one that is forced can hide.
const (
	maxSeenAge  = time.Second
	maxProbeAge = manifest.ReadFor
)

const latestPart = "latest"

// Latest opens the newest version, or returns ErrNoTable.
func (t *Table) Latest(ctx context.Context) (*Dataset, error) {
	d, err := t.latest(ctx)
	if err != nil {
		return nil, err
	}
	return t.opened(ctx, d)
}

func (t *Table) latest(ctx context.Context) (*Dataset, error) {
	if k, ok := t.known(); ok {
		return t.probe(ctx, k)
	}
	return t.list(ctx)
}

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

// maxListings bounds how often versions are listed that are gone when they are to be read.
const maxListings = 4

// list finds the newest version by listing, once more when that is gone before it is read: there are newer ones,
// or the table was dropped.
func (t *Table) list(ctx context.Context) (*Dataset, error) {
	for range maxListings - 1 {
		if d, err := t.listOnce(ctx); !errors.Is(err, ErrNoVersion) {
			return d, err
		}
	}
	return t.listOnce(ctx)
}

// listOnce finds the newest version by one listing. The version that is hinted at is read
// meanwhile: most often that is the newest.
func (t *Table) listOnce(ctx context.Context) (*Dataset, error) {
	at := t.session.now()
	ahead := make(chan *Dataset, 1)
	if t.hint > 0 {
		go func() {
			d, err := t.load(ctx, t.hint, manifest.V2)
			if err != nil {
				d = nil // it will be said of the newest version if it matters
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

// maxProbes bounds how many versions are walked through one by one.
const maxProbes = 64

// probe finds the newest version by asking for the one after the newest known, and the
// one after that, until there is none.
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

// Version opens one version, or returns ErrNoVersion. Detached versions, which are not in
// the history, are opened by their number too.
func (t *Table) Version(ctx context.Context, version uint64) (*Dataset, error) {
	d, err := t.version(ctx, version)
	if err != nil {
		return nil, err
	}
	return t.opened(ctx, d)
}

func (t *Table) version(ctx context.Context, version uint64) (*Dataset, error) {
	for _, scheme := range schemesOf(version) {
		if d, err := t.load(ctx, version, scheme); !errors.Is(err, ErrNoVersion) {
			return d, err
		}
	}
	return nil, fmt.Errorf("%w: %d of %s", ErrNoVersion, version, t.at.URI)
}

// Has asks the storage, and not the cache, whether a version that was read is still there:
// cleaning up removes old ones, and whoever drops the table all. One that is gone is forgotten,
// also if there is another one of its number.
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

// Info asks the storage for the manifest of a version, or returns ErrNoVersion.
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

// schemesOf returns how the manifest of a version may be named.
func schemesOf(version uint64) []manifest.Scheme {
	if manifest.IsDetached(version) {
		return []manifest.Scheme{manifest.Detached}
	}
	return []manifest.Scheme{manifest.V2, manifest.V1}
}
