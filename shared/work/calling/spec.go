// Package calling opens registered functions for jobs: it joins the record of a function, its artifact and
// the values of its secrets with the runtime of its kind.
package calling

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/function"
	"tiltyard/shared/protocol"
)

// SpecOf returns what a runtime learns of a function with an id. The environment has the declared
// variables and no secrets.
func SpecOf(id []string, d protocol.FunctionDefinition, content []byte) (function.Spec, error) {
	spec := function.Spec{
		Name: strings.Join(id, protocol.DefaultDelimiter), Kind: d.Artifact.Kind, Entrypoint: d.Artifact.Entrypoint,
		Artifact: content, Digest: d.Artifact.Digest, Runtime: d.Runtime, Environment: d.Environment(),
	}
	var err error
	if spec.Inputs, err = fields(d.Signature.Inputs); err != nil {
		return spec, err
	}
	spec.Outputs, err = fields(d.Signature.Results())
	return spec, err
}

func fields(declared []protocol.FunctionField) ([]arrow.Field, error) {
	all := make([]arrow.Field, len(declared))
	for i, f := range declared {
		var err error
		if all[i], err = f.Field(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Prove opens a function, calls it with a batch of no rows, and checks the outputs.
func Prove(ctx context.Context, runtime function.Runtime, spec function.Spec) (err error) {
	caller, err := runtime.Open(ctx, spec)
	if err != nil {
		return err
	}
	defer func() {
		if closed := caller.Close(); err == nil {
			err = closed
		}
	}()
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
	return CheckResult(spec, in, result)
}

// CheckResult returns an error for outputs that are not those that a function declares: as many rows as
// came, and a column of each type.
func CheckResult(spec function.Spec, in arrow.RecordBatch, result function.Result) error {
	out := result.Outputs
	if out.NumRows() != in.NumRows() || int(out.NumCols()) != len(spec.Outputs) {
		return protocol.Errorf(protocol.InvalidInput, "function %s returned %d rows of %d columns for %d rows; it declares %d columns",
			spec.Name, out.NumRows(), out.NumCols(), in.NumRows(), len(spec.Outputs))
	}
	for i, f := range spec.Outputs {
		if got := out.Column(i).DataType(); !protocol.SameFunctionType(f.Type, got) {
			return protocol.Errorf(protocol.InvalidInput, "function %s returned %s for %s, which it declares to be %s", spec.Name, got, describeOutput(spec, i), f.Type)
		}
	}
	return nil
}

func describeOutput(spec function.Spec, i int) string {
	if len(spec.Outputs) == 1 {
		return "its output"
	}
	return fmt.Sprintf("its output %q", spec.Outputs[i].Name)
}
