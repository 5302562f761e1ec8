package catalog

import (
	"context"
	"errors"

	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
)

// maxAttempts bounds how often a write starts again because its name stands for another table.
const maxAttempts = 3

// Write does work that changes the table that a name stands for. The work begins on the remembered
// table. It must call found.Confirm before it changes anything, and must stop if that fails. When
// the name stands for another table now, Write does the work again on that table.
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
		// The error may be due to a table that the name no longer stands for.
		if moved := found.Confirm(); moved != nil {
			err = moved
		}
		switch {
		case !errors.Is(err, stored.ErrMoved):
			return none, err
		case attempt == maxAttempts:
			return none, protocol.Errorf(protocol.ConcurrentModification, "%w", err)
		}
	}
}
