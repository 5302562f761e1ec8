package fill

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/internal/staleness"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
)

// A Behind is a computed column that is filled automatically, and that has values which are missing or out of date in the
// newest version. It represents all columns that are computed together with it.
type Behind struct {
	Column   string
	Use      *schemaapi.FunctionBinding // nil for an expression
	Interval time.Duration              // minimum time between two fills; 0: the default of the service
	Rows     int64                      // in fragments with values that do not match their inputs
	Of       int64                      // rows of the table
	Version  uint64
}

// AllBehind returns the columns to fill, in the order of the schema. It reads metadata only, so it cannot find a row
// without a value in a fragment that was filled, such as one for which the function failed. A column is left out until the
// computed columns that it reads are filled.
func AllBehind(ctx context.Context, t *engine.Table) ([]Behind, error) {
	return engine.Read(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) ([]Behind, error) {
		var all []Behind
		seen := map[string]bool{}
		for _, f := range d.Schema().Fields {
			interval, ok := computed.Scheduled(f)
			if !ok || seen[f.Name] {
				continue
			}
			c, err := computed.Open(ctx, d, f.Name, "")
			if cannotFill(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			// The columns of a binding are filled together, so they are listed once.
			for _, name := range c.Outputs() {
				seen[name] = true
			}
			rows, err := staleRows(ctx, t, d, c)
			if err != nil {
				return nil, err
			}
			waits, err := waits(ctx, t, d, c)
			if err != nil {
				return nil, err
			}
			if rows > 0 && !waits {
				all = append(all, Behind{Column: c.Name, Use: c.Binding, Interval: interval, Rows: rows, Of: d.CountRows(), Version: d.Version()})
			}
		}
		return all, nil
	})
}

// cannotFill reports whether an error means that no job can fill the column, because its
// declaration is invalid.
func cannotFill(err error) bool {
	var known *protocol.Error
	return errors.As(err, &known) && known.Code != protocol.ServiceUnavailable && known.Code != protocol.ConcurrentModification
}

// waits reports whether a column reads a computed column that is not up to date.
func waits(ctx context.Context, t *engine.Table, d *dataset.Dataset, c *computed.Column) (bool, error) {
	for _, name := range c.Reads() {
		f := d.Schema().Field(name)
		if f == nil || computed.Of(f) == nil {
			continue
		}
		input, err := computed.Open(ctx, d, name, "")
		if cannotFill(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		rows, err := staleRows(ctx, t, d, input)
		if err != nil || rows > 0 {
			return rows > 0, err
		}
	}
	return false, nil
}

// staleRows returns the number of rows in fragments whose values were computed from other inputs
// than the present ones. It leaves out fragments without a record of their inputs, because only a
// request fills these.
func staleRows(ctx context.Context, t *engine.Table, d *dataset.Dataset, c *computed.Column) (rows int64, err error) {
	stamp, err := staleness.Read(ctx, d, c.Name, c.Definition, c.Inputs, func(ctx context.Context, version uint64, work func(context.Context, *dataset.Dataset) error) error {
		number := int64(version)
		return engine.Do(ctx, t, &number, work)
	})
	if err != nil {
		return 0, err
	}
	for _, f := range d.Fragments() {
		if _, known := stamp.Now[uint32(f.Meta.ID)]; known && stamp.IsStale(f.Meta.ID) {
			rows += fragment.LiveRows(f.Meta)
		}
	}
	return rows, nil
}
