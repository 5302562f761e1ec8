// Package udfcall opens registered functions for jobs: it combines the record of a function, its
// artifact and the values of its secrets, and opens them with the runtime of the function's kind.
package udfcall

import (
	"context"
	"maps"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
)

// SpecOf returns the specification of a function for its runtime. The environment contains the
// declared variables but no secrets.
func SpecOf(id []string, d functionapi.Definition, content []byte) (udf.Spec, error) {
	spec := udf.Spec{
		Name: strings.Join(id, protocol.DefaultDelimiter), Kind: d.Artifact.Kind, Entrypoint: d.Artifact.Entrypoint,
		Artifact: content, Digest: d.Artifact.Digest, Runtime: d.Runtime, Environment: map[string]string{},
	}
	maps.Copy(spec.Environment, d.Environment())
	var err error
	if spec.Inputs, err = fields(d.Signature.Inputs); err != nil {
		return spec, err
	}
	for i, f := range d.Signature.Inputs {
		if f.IsBlob() { // functions receive the bytes of a blob
			spec.Inputs[i] = arrow.Field{Name: f.Name, Type: arrow.BinaryTypes.LargeBinary, Nullable: f.Nullable}
		}
	}
	spec.Outputs, err = fields(d.Signature.Results())
	return spec, err
}

// fields converts declared fields to Arrow fields.
func fields(declared []functionapi.Field) ([]arrow.Field, error) {
	all := make([]arrow.Field, len(declared))
	for i, f := range declared {
		var err error
		if all[i], err = f.Field(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Prove opens a function with the runtime of its kind, calls it with an empty batch, and checks the outputs. The function
// gets the secrets that exist already and that the principal of the context may use. ok is false if there is no runtime of
// that kind.
func (d Directory) Prove(ctx context.Context, spec udf.Spec, definition functionapi.Definition) (ok bool, err error) {
	runtime := d.Runtimes[definition.RuntimeKind()]
	if runtime == nil {
		return false, nil
	}
	conceal, err := d.secrets(ctx, definition.SecretBindings, spec.Environment, func(error) error { return nil }) // skip a missing secret, which may be created later
	if err != nil {
		return false, err
	}
	return true, mask(prove(ctx, runtime, spec), conceal)
}

// prove opens a function and calls it with an empty batch.
func prove(ctx context.Context, runtime udf.Runtime, spec udf.Spec) (err error) {
	caller, err := runtime.Open(ctx, spec)
	if err != nil {
		return err
	}
	defer func() {
		if closed := caller.Close(); err == nil {
			err = closed
		}
	}()
	return callNothing(ctx, caller, spec)
}

// callNothing calls a function with an empty batch, which shows whether it can be loaded.
func callNothing(ctx context.Context, caller udf.Caller, spec udf.Spec) error {
	columns := make([]arrow.Array, len(spec.Inputs))
	for i, f := range spec.Inputs {
		builder := array.NewBuilder(arrowmemory.DefaultAllocator, f.Type)
		columns[i] = builder.NewArray()
		builder.Release()
	}
	in := array.NewRecordBatch(arrow.NewSchema(spec.Inputs, nil), columns, 0)
	defer in.Release()
	result, err := caller.Call(ctx, in)
	if err != nil {
		return err
	}
	defer result.Outputs.Release()
	return computed.CheckResult(spec.Name, spec.Outputs, 0, result)
}
