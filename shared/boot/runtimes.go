package boot

import (
	"errors"
	"os"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/wasm"
	"tiltyard/shared/engine/udf/wasm/frame"
	"tiltyard/shared/jobs/transaction"
)

// minModuleMemory and maxModuleMemory bound the memory of a WebAssembly module: less is of no use, and its
// addresses have 32 bits.
const (
	minModuleMemory = 1 << 20
	maxModuleMemory = 4 << 30
	maxModuleOutput = 1 << 30
)

// parseModuleMemory accepts a number of bytes that the memory of a module can have.
func parseModuleMemory(text string) (int64, error) {
	n, err := parseBytes(text)
	if err == nil && (n < minModuleMemory || n > maxModuleMemory) {
		err = errors.New("must be between 1MiB and 4GiB")
	}
	return n, err
}

// parseModuleOutput accepts a number of bytes that the reply of a module can have.
func parseModuleOutput(text string) (int64, error) {
	n, err := parseBytes(text)
	if err == nil && n > maxModuleOutput {
		err = errors.New("must be at most 1GiB")
	}
	return n, err
}

// openRuntimes returns the runtimes of functions that the configuration names. A program that calls them
// begins with host.Intercept of package function/wasm/host: it runs itself as the process of a module.
func openRuntimes(c Config) (udf.Runtimes, error) {
	if !c.Wasm {
		return nil, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return udf.Runtimes{"wasm": wasm.NewRuntime([]string{program, frame.Argument}, transaction.Began, c.WasmLimits)}, nil
}
