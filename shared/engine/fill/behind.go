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

// A Behind is a computed column that is filled without a request, and whose values are not those of the newest
// version. It stands for all columns that are computed together with it.
type Behind struct {
	Column   string
	Use      *schemaapi.FunctionBinding // nil for an expression
	Interval time.Duration              // from one fill to the next at least; 0 leaves that to the service
	Rows     int64                      // of fragments whose values are not those of their inputs
	Of       int64                      // rows of the table
	Version  uint64
}

// AllBehind returns the columns that want to be filled, in the order of the schema. It reads metadata and no
// rows, so it does not see a row without a value in a fragment that was filled, such as one that a function
// failed for. A column waits for the computed columns that it reads.
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

// cannotFill reports whether an error is that of a declaration which no job can fill.
func cannotFill(err error) bool {
	var known *protocol.Error
	return errors.As(err, &known) && known.Code != protocol.ServiceUnavailable && known.Code != protocol.ConcurrentModification
}

// waits reports whether a column reads one that is computed and behind.
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

// staleRows returns the rows of fragments whose values were not computed from the inputs that they have. It
// leaves out fragments for which that is not known, which only a request fills.
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
