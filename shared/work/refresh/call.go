package refresh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/rowerror"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/storage/objectstore"
)

// reading returns a description of a view's function for planning; it cannot be called. It returns nil if the view has no
// function that executors run.
func reading(d *view.Definition) *materialize.Call {
	if d.Call == nil {
		return nil
	}
	return &materialize.Call{Call: d.Call, AllRows: d.Kind == view.KindUDTF}
}

// call returns the function of a view, or nil if the view has none that executors run. at is the
// location of the view's table, which contains the function's envelope.
func (f *refresher) call(d *view.Definition, at objectstore.Location, failures *failures) *materialize.Call {
	c := reading(d)
	if c == nil {
		return nil
	}
	c.Open = func(ctx context.Context, inputs, outputs []arrow.Field) (udf.Caller, error) {
		// A function that is opened again computes again all rows whose failures were not saved.
		failures.forget()
		content, err := computed.ReadEnvelope(ctx, at.Store, at.Prefix, c.Envelope)
		if err != nil {
			return nil, err
		}
		runtime, err := json.Marshal(udf.EnvelopeRuntime{Kind: udf.Envelope, Backend: c.Backend, Batch: c.Batch})
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		spec := udf.Spec{
			Name: c.Name, Version: c.Version, Kind: udf.Envelope, Artifact: content, Digest: "sha256:" + hex.EncodeToString(sum[:]),
			Runtime: runtime, Inputs: inputs, Outputs: outputs, Shape: udf.ManyRows,
		}
		if c.AllRows {
			spec.Shape = udf.AllRows
		}
		return f.functions.OpenEnvelope(ctx, spec, f.run.ID())
	}
	c.Failed = func(ctx context.Context, version, at uint64, failed udf.Failure) error {
		fragment, offset := at>>32, uint32(at)
		// A function over all rows has no single failing row: at identifies the partition.
		if c.AllRows {
			fragment, offset = at, 0
		}
		return failures.add(ctx, rowerror.Unit{
			Job: f.run.ID(), Fragment: fragment, Column: c.PartitionBy, Function: c.Name, FunctionVersion: c.Version, TableVersion: version,
		}, rowerror.Row{Offset: offset, Type: failed.Type, Message: failed.Message})
	}
	return c
}

// failures records the source rows, or elements of them, for which the function of a view failed.
// It buffers one fragment at a time.
type failures struct {
	area rowerror.Area
	unit *rowerror.Unit
}

// add records a failure in the unit of its fragment.
func (f *failures) add(ctx context.Context, of rowerror.Unit, row rowerror.Row) error {
	if f.unit == nil || f.unit.Fragment != of.Fragment {
		if err := f.save(ctx); err != nil {
			return err
		}
		f.unit = &of
	}
	f.unit.Add(row)
	return nil
}

// save stores the buffered failures.
func (f *failures) save(ctx context.Context) error {
	if f.unit == nil {
		return nil
	}
	f.unit.At = time.Now().UTC()
	err := f.area.Put(ctx, f.unit)
	f.forget()
	return err
}

// forget drops the buffered failures, because the rows will be computed again.
func (f *failures) forget() { f.unit = nil }
