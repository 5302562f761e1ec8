package catalog

import (
	"context"
	"errors"

	"tiltyard/shared/protocol"
)

// maxAttempts bounds how often a write follows a name from table to table.
const maxAttempts = 3

// Write does work that changes the table that a name stands for. The work begins on what
// was last seen; before it changes anything it must ask found.Confirm, and its result
// counts. When the name stands for another table now, the work is done there.
func Write[T any](ctx context.Context, c *Catalog, id []string, work func(ctx context.Context, found *Lookup) (T, error)) (T, error) {
	var none T
	for attempt := 1; ; attempt++ {
		found, err := c.Lookup(ctx, id)
		if err != nil {
			return none, err
		}
		result, err := work(ctx, found)
		if err == nil {
			return result, nil
		}
		// What went wrong may be the fault of a table that was not meant.
		if moved := found.Confirm(); moved != nil {
			err = moved
		}
		switch {
		case !errors.Is(err, ErrMoved):
			return none, err
		case attempt == maxAttempts:
			return none, protocol.Errorf(protocol.ConcurrentModification, "%w", err)
		}
	}
}
