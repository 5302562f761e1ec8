package ledger

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
)

// A Writer makes the versions that ledgers list.
type Writer struct {
	Home objects.Store // holds copies of manifests
}

// FinishTime bounds work that continues after its request was cancelled. After that time other
// processes may do the work.
const FinishTime = 30 * time.Second

// PutCopy stores a copy of a manifest, so that another process can make the version if this one
// dies.
func (w *Writer) PutCopy(ctx context.Context, m Manifest) (key string, err error) {
	key = CopiesPrefix + objects.NewUID()
	if _, err := w.Home.Put(ctx, key, m.Data, objectstore.Condition{}); err != nil {
		return "", fmt.Errorf("copy manifest: %w", err)
	}
	return key, nil
}

// Make puts the manifest of an entry at its usual name. The bytes are data or, if that is nil, the
// entry's copy. Another manifest at that name stays, and the error is objectstore.ErrPrecondition.
// An entry without a copy was made before.
func (w *Writer) Make(ctx context.Context, at objectstore.Location, e Entry, data []byte) (objectstore.Info, error) {
	key := Key(at, e.Name)
	if data == nil {
		var err error
		if data, _, err = w.Home.Get(ctx, e.Copy); objects.Missing(err) {
			_, info, err := at.Store.GetRanges(ctx, key)
			return info, err
		} else if err != nil {
			return objectstore.Info{}, fmt.Errorf("read copy of version %d: %w", e.Version, err)
		}
	}
	info, err := putOnce(ctx, at.Store, key, data)
	if err == nil {
		_ = w.Home.Delete(ctx, e.Copy, objectstore.Condition{}) // if this fails, the copy is garbage
	}
	return info, err
}

// CatchUp makes the versions that the ledger lists and that do not exist yet. It returns the newest
// version, 0 when there is none.
func (w *Writer) CatchUp(ctx context.Context, at objectstore.Location, l *Ledger) (uint64, error) {
	newest, err := Newest(ctx, at)
	if err != nil {
		return 0, err
	}
	for _, e := range l.Next {
		if e.Version <= newest {
			continue
		}
		switch _, err := w.Make(ctx, at, e, nil); {
		case err == nil:
			newest = e.Version
		case !objects.Changed(err): // else a writer bypassed the ledger, or the version was made and deleted
			return 0, err
		}
	}
	return newest, nil
}

// MadeBefore returns the result for a manifest that the ledger lists already: its version, unless
// another manifest took the version's name.
func (w *Writer) MadeBefore(ctx context.Context, at objectstore.Location, id []string, l *Ledger, m Manifest) (objectstore.Info, error) {
	newest, err := w.CatchUp(ctx, at, l)
	if err != nil {
		return objectstore.Info{}, err
	}
	there, info, err := at.Store.Get(ctx, Key(at, m.Name()))
	if err == nil && bytes.Equal(there, m.Data) || err == nil && m.Data == nil {
		return info, nil
	}
	if err == nil || objects.Missing(err) {
		err = NotNext(id, m.Version, newest)
	}
	return objectstore.Info{}, err
}

// DeleteCopies deletes copies of manifests that are no longer needed. A copy that it fails to
// delete is garbage.
func (w *Writer) DeleteCopies(ctx context.Context, entries []Entry) {
	for _, e := range entries {
		if e.Copy != "" {
			_ = w.Home.Delete(ctx, e.Copy, objectstore.Condition{})
		}
	}
}

// Newest returns the newest version at a location, 0 when there is none.
func Newest(ctx context.Context, at objectstore.Location) (uint64, error) {
	newest, err := manifest.Latest(ctx, at.Store, at.Prefix)
	if objects.Missing(err) {
		return 0, nil
	}
	return newest.Version, err
}

// Key returns the key of a manifest with a file name, in the store of the location.
func Key(at objectstore.Location, name string) string {
	return at.Prefix + "/" + manifest.VersionsDir + "/" + name
}

// putOnce puts an object if absent. An object with the same bytes counts as ours; any other object
// is objectstore.ErrPrecondition.
func putOnce(ctx context.Context, store objectstore.Store, key string, data []byte) (objectstore.Info, error) {
	there, info, err := objects.PutOnce(ctx, store, key, data)
	if err == nil && !bytes.Equal(there, data) {
		return objectstore.Info{}, fmt.Errorf("put %s: %w", key, objectstore.ErrPrecondition)
	}
	return info, err
}
