package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/protocol"
)

// AddExecutors adds the configured executors to the runtimes of functions, without connecting to
// them. lambda opens the carrier to a Lambda function, and secret returns the value of a secret by
// its id.
func (e *Env) AddExecutors(lambda func(arn string) (executor.Carrier, error), secret func(ctx context.Context, id string) ([]byte, error)) error {
	if len(e.Executors) == 0 {
		return nil
	}
	set, err := executor.Open(e.Executors, executor.Options{Lambda: lambda, Secret: secret})
	if err != nil {
		return fmt.Errorf("TILTYARD_EXECUTOR: %w", err)
	}
	added := udf.Runtimes{}
	for _, kind := range executor.Kinds() {
		added[kind] = set
	}
	maps.Copy(added, e.Runtimes)
	e.Runtimes = added
	return nil
}

// Runs returns an error if no configured executor or runtime accepts the given runtime, a JSON object.
// It is for programs that register functions but run none.
func (e *Env) Runs(runtime []byte) error {
	var declared struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(runtime, &declared); err != nil {
		return err
	}
	if declared.Kind == "wasm" && !e.Wasm {
		return &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment runs no functions in WebAssembly", Detail: "its operator switches them on (TILTYARD_WASM)", Err: udf.ErrNone,
		}
	}
	return executor.Check(e.Executors)(runtime)
}
