// Package udfregister creates versions of functions in jobs. A job proves a function before the
// function gets a name: it opens the function with its runtime and calls it with an empty batch.
package udfregister

import (
	"context"
	"encoding/json"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/work/udfcall"
)

// Kind is the kind of jobs that create versions of functions.
const Kind = "create_function"

// An Order is the input of a job.
type Order struct {
	Definition json.RawMessage `json:"definition"` // a functionapi.Definition in JSON
	Digest     string          `json:"digest"`     // of the definition
	Artifact   string          `json:"artifact"`   // key of its content
}

// Create returns the kind of jobs that create a version of a function. Without a runtime of the
// function's kind the version is created unproved. An interrupted job starts again, and finds the
// version if it has created it.
func Create(directory udfcall.Directory) jobs.Kind {
	names := directory.Names
	return jobs.Single("prove", func(ctx context.Context, r *jobs.Run) (any, error) {
		var order Order
		if err := r.Input(&order); err != nil {
			return nil, err
		}
		version := stored.FunctionVersion{Digest: order.Digest, Definition: order.Definition, Artifact: order.Artifact}
		var d functionapi.Definition
		if err := json.Unmarshal(order.Definition, &d); err != nil {
			return nil, err
		}
		content, came, err := names.Functions.Artifact(ctx, order.Artifact, d.Artifact.Digest)
		if err != nil {
			return nil, err
		}
		spec, err := udfcall.SpecOf(r.Object(), d, content)
		if err != nil {
			return nil, err
		}
		spec.Job = r.ID()
		// Prove the function with the rights of the sender, so that it gets only permitted secrets.
		as, err := directory.Rights.As(ctx, r.By())
		if err != nil {
			return nil, err
		}
		if version.Proved, err = directory.Prove(as, spec, d); err != nil {
			return nil, err
		}
		// The cleanup of unused artifacts may delete this one at any time.
		if !names.Functions.MayName(came) {
			return nil, protocol.Errorf(protocol.InvalidInput, "the job has waited too long, and the code that came with the request is given up; create the function again")
		}
		record, number, err := names.Functions.Add(ctx, r.Object(), version)
		if err != nil {
			return nil, err
		}
		return functions.Describe(record, number, nil)
	})
}
