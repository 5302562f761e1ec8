package naming

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// Namespace returns the record of a namespace and its ETag, or NamespaceNotFound.
func (r *Registry) Namespace(ctx context.Context, id []string) (*stored.Namespace, string, error) {
	var record stored.Namespace
	etag, found, err := r.Store.Find(ctx, keys.Namespace(id), &record)
	switch {
	case err != nil: // the state of the namespace is unknown
	case found:
		r.RememberParent(id, &record)
	default:
		r.RememberParent(id, nil)
	}
	switch {
	case !auth.Sees(ctx, auth.Namespace(id)), err == nil && !found:
		return nil, "", NamespaceNotFound(id)
	case err != nil:
		return nil, "", err
	}
	return &record, etag, nil
}

// NamespaceNotFound is the error for a namespace that does not exist or that policies hide.
func NamespaceNotFound(id []string) error {
	return &protocol.Error{
		Code:    protocol.NamespaceNotFound,
		Message: fmt.Sprintf("namespace %s does not exist", keys.Display(id)),
	}
}

// A childRecord is the record of an object that a namespace holds.
type childRecord interface{ Identity() string }

// CreateChild puts the record of a new object into a parent, and returns the record's ETag. The
// record must not exist yet (objectstore.ErrPrecondition), and the parent must exist after the put.
//
// That check keeps a dropped namespace empty: a drop marks the parent before it lists the children,
// so either the drop sees the record or the check sees the mark. The check cannot be left out, and
// cannot be sent in parallel with the put. The store may order concurrent requests in any way, so
// it could answer the check before the mark, and carry out the put after the list that follows the
// mark.
//
// The look at the parent before the put adds no safety. It saves a put that would be taken back,
// and it reads whether the parent requests ledgers for its tables. A process that has cached the
// parent skips it. If the check shows that the parent has been dropped or replaced since,
// CreateChild takes the put back.
func (r *Registry) CreateChild(ctx context.Context, id []string, key string, record childRecord) (etag string, err error) {
	parent := keys.Parent(id)
	if keys.IsRoot(parent) || keys.IsDropped(id) { // these always exist
		return r.Store.Write(ctx, key, record, objectstore.Condition{IfAbsent: true})
	}
	plain, _ := record.(*stored.Table)
	if plain != nil && (plain.Arriving != nil || plain.Ledger != nil) {
		plain = nil // the decision about a ledger was made before
	}
	managed, seen := r.recallParent(ctx, parent)
	err = objects.Race{Lost: Dropping(parent)}.Run(ctx, func(attempt int) (done bool, err error) {
		if attempt > 0 || !seen {
			within, dropping, err := r.checkParent(ctx, parent)
			if err != nil {
				return true, err
			}
			if dropping {
				return false, objects.Pause(ctx, attempt)
			}
			managed = ledger.Wanted(within.Properties)
		}
		if plain != nil {
			plain.Ledger = nil
			if managed {
				plain.Ledger = &ledger.Ledger{}
			}
		}
		if etag, err = r.Store.Write(ctx, key, record, objectstore.Condition{IfAbsent: true}); err != nil {
			return true, err
		}
		within, dropping, err := r.checkParent(ctx, parent)
		if err == nil && !dropping && (plain == nil || ledger.Wanted(within.Properties) == managed) {
			return true, nil
		}
		if err != nil && !protocol.HasCode(err, protocol.NamespaceNotFound) {
			// Other callers may have seen the record, and most likely nothing is wrong with it.
			return true, objects.Unsettled(err)
		}
		// The drop may have listed the children before our put: take the put back. Only this
		// record: if it has been replaced in the meantime, the process that replaced it has made
		// the same check.
		if undo := objects.IgnoreChanged(r.Store.Remove(ctx, key, record.Identity(), etag)); undo != nil {
			return true, fmt.Errorf("take back %s: %w", keys.Display(id), undo)
		}
		return err != nil, err
	})
	if err != nil {
		return "", err
	}
	return etag, nil
}

// maxParents bounds the namespaces that a registry caches.
const maxParents = 10_000

// recallParent reports whether this process has cached the namespace, without a mark, and whether
// tables in it are managed. For a caller from whom policies hide the namespace, the answer is that
// it is not cached.
func (r *Registry) recallParent(ctx context.Context, id []string) (managed, seen bool) {
	if !auth.Sees(ctx, auth.Namespace(id)) {
		return false, false
	}
	return r.parents.GetIfPresent(keys.Namespace(id))
}

// RememberParent caches the record of a namespace, nil for none, for later creates in it.
func (r *Registry) RememberParent(id []string, record *stored.Namespace) {
	if record == nil || record.Dropping != nil {
		r.parents.Invalidate(keys.Namespace(id))
		return
	}
	r.parents.Set(keys.Namespace(id), ledger.Wanted(record.Properties))
}

// Taken returns the error for a create whose name is taken. The error is exists, unless the parent
// namespace no longer exists or is being dropped.
func (r *Registry) Taken(ctx context.Context, id []string, exists error) error {
	if keys.IsRoot(keys.Parent(id)) {
		return exists
	}
	switch _, dropping, err := r.checkParent(ctx, keys.Parent(id)); {
	case err != nil:
		return err
	case dropping:
		return Dropping(keys.Parent(id))
	}
	return exists
}

// Dropping is the error if another caller is dropping the namespace.
func Dropping(id []string) error { return objects.LostRace("namespace", id, errDropping) }

var errDropping = errors.New("namespace is being dropped")

// checkParent returns the record of a namespace, and whether a caller is dropping the namespace. It
// removes an expired mark.
func (r *Registry) checkParent(ctx context.Context, id []string) (record *stored.Namespace, dropping bool, err error) {
	record, etag, err := r.Namespace(ctx, id)
	if err != nil || record.Dropping == nil {
		return record, false, err
	}
	if r.Now().Before(record.Dropping.Until) {
		return nil, true, nil
	}
	record.Dropping = nil
	_, err = r.Store.Write(ctx, keys.Namespace(id), record, objectstore.Condition{IfMatch: etag})
	if objects.Changed(err) {
		return nil, true, nil // the record has changed: read it again
	}
	if err == nil {
		r.RememberParent(id, record)
	}
	return record, false, err
}
