package refresh

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
)

// Readers of a view see rows of its source, so a refresh reads the source with the rights of the principal that defined
// the view. With the rights of the request's sender, a user who can write the definition could exploit that sender's
// rights. The rights are checked after a refresh has chosen a version of the source, so the view never shows rows inserted
// after a revocation.

// mayRead checks that the principal that defined a view may still read its source.
func mayRead(ctx context.Context, on tables.Tables, view *catalog.Table, source []string) error {
	as, err := on.Rights.As(ctx, view.View.By)
	if err == nil {
		err = auth.CheckReads(as, source)
	}
	return unreadable(view.ID, source, err)
}

// sourceOf returns the source of a view after checking the rights of the principal that defined the
// view.
func sourceOf(ctx context.Context, on tables.Tables, view *catalog.Table, source []string) (*catalog.Table, error) {
	if err := mayRead(ctx, on, view, source); err != nil {
		return nil, err
	}
	found, err := on.Names.Table(ctx, source)
	return found, unreadable(view.ID, source, err)
}

// unreadable replaces the error for a source that does not exist or must not be read. The new error hides which of the two
// it is, because users of the view need not have a right to the source.
func unreadable(view, source []string, err error) error {
	switch protocol.CodeOf(err) {
	case protocol.TableNotFound, protocol.NamespaceNotFound, protocol.PermissionDenied:
		return &protocol.Error{
			Code:    protocol.TableNotFound,
			Message: fmt.Sprintf("view %s reads %s, and there is no such table that whoever defined the view may read", keys.Display(view), keys.Display(source)),
			Detail:  "a table that was renamed can get its former name back; somebody who may read it can send a refresh with adopt, or create the view anew",
			Err:     err,
		}
	}
	return err
}

// isUnreadable reports whether an error is about a source that does not exist or must not be read.
func isUnreadable(err error) bool { return protocol.HasCode(err, protocol.TableNotFound) }

// refuse returns an order for a view that can no longer be refreshed. Its job fails and so shows the reason to users of
// the view. refuse returns nil if there was such a job since the last refresh.
func (f follower) refuse(ctx context.Context, view *catalog.Table) (*Order, error) {
	uid := view.View.UID
	h, version, err := historyOf(ctx, f.on, uid)
	if err != nil || h.Refused {
		return nil, err
	}
	h.Refused = true
	if err = note(ctx, f.on, uid, version, h); errors.Is(err, record.ErrConflict) {
		return nil, nil
	}
	return &Order{UID: uid, Digest: view.View.Digest}, err
}
