package backfill

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/work/udfcall"
)

// Readers of the table see the values that a function computes, also from its secrets. So jobs call the function with the
// current rights of the principal that declared the column. With the rights of the request's sender, a user who can write
// the metadata could exploit that sender's rights.

// userOf returns a context with the current rights of the principal that declared the use of a
// function.
func userOf(ctx context.Context, rights auth.Rights, found *catalog.Table, column string, use *schemaapi.FunctionBinding) (context.Context, error) {
	what, err := Allowance(use)
	if err != nil {
		return nil, err
	}
	as, err := rights.As(ctx, found.UserOf(what))
	return as, unusable(found, column, err)
}

// mayUse checks that the principal that declared a column may still use its function.
func (f follower) mayUse(ctx context.Context, found *catalog.Table, c fill.Behind) error {
	as, err := userOf(ctx, f.on.Rights, found, c.Column, c.Use)
	if err != nil {
		return err
	}
	return unusable(found, c.Column, udfcall.Check(as, f.on.Names, c.Use.Function))
}

// unusable replaces an error that a function or a secret does not exist or may not be used. Other errors stay.
func unusable(found *catalog.Table, column string, err error) error {
	if !protocol.HasCode(err, protocol.PermissionDenied) && !functions.IsNotFound(err) {
		return err
	}
	return &protocol.Error{
		Code:    protocol.InvalidInput,
		Message: fmt.Sprintf("column %q of table %s needs a function or a secret that does not exist, or that whoever declared the column may not use", column, keys.Display(found.ID)),
		Detail:  "drop the column, and add it again with the rights of somebody who may use them",
		Err:     errors.Join(errUnusable, err),
	}
}

// errUnusable is the cause in errors of [unusable].
var errUnusable = errors.New("the function may not be used")
