package backfill

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/work/calling"
)

// The values that a function computes, and what it makes of its secrets, are for the readers of the table. So it is
// called with the rights of whoever declared the column, as they are at that time: those of the sender of a request
// would let him be used by whoever has written the metadata.

// userOf returns a context with the rights of whoever has the columns of a table use a function.
func userOf(ctx context.Context, rights auth.Rights, found *catalog.Table, column string, use *schemaapi.FunctionBinding) (context.Context, error) {
	what, err := Allowance(use)
	if err != nil {
		return nil, err
	}
	as, err := rights.As(ctx, found.UserOf(what))
	return as, unusable(found, column, err)
}

// mayUse checks that whoever declared columns of a table may still use their function.
func (f follower) mayUse(ctx context.Context, found *catalog.Table, c engine.Behind) error {
	as, err := userOf(ctx, f.on.Rights, found, c.Column, c.Use)
	if err != nil {
		return err
	}
	return unusable(found, c.Column, calling.Check(as, f.on.Names, c.Use.Function))
}

// unusable replaces the error for a function that whoever declared a column may not use, or not with its secrets.
// Another one stays.
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

// errUnusable marks the errors of [unusable].
var errUnusable = errors.New("the function may not be used")
