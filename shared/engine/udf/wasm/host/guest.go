package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"tiltyard/shared/engine/udf/wasm/frame"
)

const (
	abiVersion = 1
	// maxFailureText bounds the JSON of a failure that a module reports.
	maxFailureText = 64 << 10

	pageBytes = 64 << 10
)

// exported lists the functions that a module must export, with the numbers of i32 that they take and
// return.
var exported = map[string][2]int{
	"tiltyard_abi": {0, 1}, "alloc": {1, 1}, "free": {2, 0}, "open": {2, 1}, "call": {2, 1}, "close": {0, 0},
}

// A guest is an open instance of a module. After a failure that is not recoverable it cannot be
// called again.
type guest struct {
	world       *world
	runtime     wazero.Runtime
	module      api.Module
	memory      api.Memory
	resultBytes int64
	seed        []byte
	argument    [2]uint64 // address and size of the last call's argument, not freed yet
}

// open compiles a module, makes an instance and calls its function open.
func open(ctx context.Context, order *frame.Order, module []byte) (*guest, *frame.Failure) {
	config := wazero.NewRuntimeConfig().
		WithMemoryLimitPages(uint32(order.MemoryBytes / pageBytes)).
		WithMemoryCapacityFromMax(true). // growing copies nothing
		WithDebugInfoEnabled(false)
	runtime, compiled, err := compile(ctx, config, order.Cache, module)
	if err != nil {
		return nil, invalidModule("it cannot be compiled: %v", err)
	}
	g := &guest{world: newWorld(order), runtime: runtime, resultBytes: order.ResultBytes, seed: []byte(order.Seed)}
	if failure := checkModule(compiled); failure != nil {
		return nil, failure
	}
	if err := g.world.instantiate(ctx, runtime); err != nil {
		return nil, invalidModule("the imports cannot be provided: %v", err)
	}
	if g.module, err = runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions().WithName("")); err != nil {
		if failure := g.failure(err, "instantiate"); failure.Type != frame.Trap || strings.Contains(err.Error(), "wasm error") {
			return nil, failure
		}
		return nil, invalidModule("%v", err)
	}
	g.memory = g.module.ExportedMemory("memory")
	if g.module.ExportedFunction("_initialize") != nil {
		if _, failure := g.run(ctx, "_initialize"); failure != nil {
			return nil, failure
		}
	}
	version, failure := g.run(ctx, "tiltyard_abi")
	if failure != nil {
		return nil, failure
	}
	if version != abiVersion {
		return nil, invalidModule("tiltyard_abi returns %d; this service knows version %d", version, abiVersion)
	}
	if _, failure := g.exchange(ctx, "open", strings.NewReader(string(order.Open)), int64(len(order.Open))); failure != nil {
		return nil, failure
	}
	return g, g.freeArgument(ctx)
}

// checkModule checks the exports and imports of a module.
func checkModule(m wazero.CompiledModule) *frame.Failure {
	if len(m.ExportedMemories()) != 1 || m.ExportedMemories()["memory"] == nil {
		return invalidModule("it exports %d memories; one with the name memory is needed", len(m.ExportedMemories()))
	}
	functions := m.ExportedFunctions()
	for name, counts := range exported {
		f := functions[name]
		if f == nil {
			return invalidModule("it does not export the function %s", name)
		}
		if !isI32(f.ParamTypes(), counts[0]) || !isI32(f.ResultTypes(), counts[1]) {
			return invalidModule("%s does not take %d and return %d values of type i32", name, counts[0], counts[1])
		}
	}
	if f := functions["_initialize"]; f != nil && (len(f.ParamTypes()) != 0 || len(f.ResultTypes()) != 0) {
		return invalidModule("_initialize takes or returns values")
	}
	// Imports outside of WASI would give a module access to the host.
	for _, f := range m.ImportedFunctions() {
		from, name, _ := f.Import()
		if _, ok := signatures[name]; from != wasiModule || !ok {
			return invalidModule("it imports %.100q of %.100q; only functions of %s are provided", name, from, wasiModule)
		}
	}
	return nil
}

func isI32(types []api.ValueType, count int) bool {
	return len(types) == count && !slices.ContainsFunc(types, func(t api.ValueType) bool { return t != api.ValueTypeI32 })
}

// call passes a batch of size bytes from in to the module and returns the reply, a slice of the module's
// memory. The caller copies it and then calls freeArgument. The error comes from in.
func (g *guest) call(ctx context.Context, in io.Reader, size int64) ([]byte, *frame.Failure, error) {
	source := &source{r: in}
	reply, failure := g.exchange(ctx, "call", source, size)
	return reply, failure, source.err
}

// A source remembers the error of a reader.
type source struct {
	r   io.Reader
	err error
}

// Read records errors other than the end of the input, to distinguish them from failures of the
// module.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// exchange calls open or call with size bytes of in.
func (g *guest) exchange(ctx context.Context, name string, in io.Reader, size int64) ([]byte, *frame.Failure) {
	place, failure := g.run(ctx, "alloc", uint64(size))
	if failure != nil {
		return nil, failure
	}
	// The module chooses the address, so it is checked against the bounds of its memory.
	argument, ok := g.memory.Read(place, uint32(size))
	if !ok {
		return nil, invalidReply("alloc returns %d for %d bytes, which is outside of the memory of %d bytes", place, size, g.memory.Size())
	}
	if _, err := io.ReadFull(in, argument); err != nil {
		return nil, &frame.Failure{Type: frame.HostFailed, Message: "the call is cut off"}
	}
	g.argument = [2]uint64{uint64(place), uint64(size)}
	// Time and random bytes depend only on the batch, so that a function is deterministic.
	if name == "call" {
		g.world.begin(g.seed, argument)
	}
	answer, failure := g.run(ctx, name, g.argument[:]...)
	if failure != nil {
		return nil, failure
	}
	return g.reply(ctx, name, answer)
}

// reply reads the reply at a place: a status, then the place and the size of the content.
//
//	0  i32  status: 0 is a result, 1 a failure in JSON
//	4  i32  place of the content
//	8  i32  its size
func (g *guest) reply(ctx context.Context, name string, place uint32) ([]byte, *frame.Failure) {
	status, ok := g.memory.ReadUint32Le(place)
	at, ok2 := g.memory.ReadUint32Le(place + 4)
	size, ok3 := g.memory.ReadUint32Le(place + 8)
	if !ok || !ok2 || !ok3 || place > 1<<32-12 {
		return nil, invalidReply("%s returns %d, which is outside of the memory of %d bytes", name, place, g.memory.Size())
	}
	if status == 0 && int64(size) > g.resultBytes {
		return nil, &frame.Failure{Type: frame.OutputLimit, Message: fmt.Sprintf("the reply has %d bytes; %d are allowed", size, g.resultBytes)}
	}
	content, ok := g.memory.Read(at, size)
	if !ok {
		return nil, invalidReply("the content of the reply has %d bytes at %d, which is outside of the memory of %d bytes", size, at, g.memory.Size())
	}
	switch status {
	case 0:
		return content, nil
	case 1:
		return nil, g.reported(ctx, content)
	}
	return nil, invalidReply("the status of the reply is %d, which is neither 0 nor 1", status)
}

// reported parses a failure that the module reports in JSON. The module stays usable.
func (g *guest) reported(ctx context.Context, text []byte) *frame.Failure {
	var report struct {
		Type    string `json:"error_type"`
		Message string `json:"message"`
	}
	if len(text) > maxFailureText {
		return invalidReply("the failure has %d bytes; %d are allowed", len(text), maxFailureText)
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return invalidReply("the failure is not JSON with error_type and message: %v", err)
	}
	if report.Type == "" {
		report.Type = "Error"
	}
	if failure := g.freeArgument(ctx); failure != nil {
		return failure
	}
	return g.logged(&frame.Failure{Type: report.Type, Message: report.Message, Recoverable: true})
}

// freeArgument frees the last call's argument in the module.
func (g *guest) freeArgument(ctx context.Context) *frame.Failure {
	_, failure := g.run(ctx, "free", g.argument[:]...)
	return failure
}

// close lets the module clean up, unless it has ended, and frees its memory.
func (g *guest) close(ctx context.Context) {
	if !g.module.IsClosed() {
		_, _ = g.run(ctx, "close")
	}
	_ = g.runtime.Close(ctx)
}

// run calls an exported function and returns its result, 0 if it has none.
func (g *guest) run(ctx context.Context, name string, args ...uint64) (uint32, *frame.Failure) {
	results, err := g.module.ExportedFunction(name).Call(ctx, args...)
	if err != nil {
		return 0, g.failure(err, name)
	}
	if len(results) == 0 {
		return 0, nil
	}
	return uint32(results[0]), nil
}

// failure describes the error of a module's function.
func (g *guest) failure(err error, name string) *frame.Failure {
	if exited, ok := errors.AsType[*sys.ExitError](err); ok {
		return g.logged(&frame.Failure{Type: frame.Exit, Message: fmt.Sprintf("%s ended the module with exit code %d", name, exited.ExitCode())})
	}
	reason, _, _ := strings.Cut(err.Error(), "\n") // then the stack
	return g.logged(&frame.Failure{Type: frame.Trap, Message: fmt.Sprintf("%s: %s", name, strings.TrimPrefix(reason, "wasm error: "))})
}

// logged adds the end of the module's output to a failure, as valid UTF-8. The parent conceals the values
// of variables in it, and needs the whole kept output for that.
func (g *guest) logged(f *frame.Failure) *frame.Failure {
	log := g.world.log
	f.Log, f.LogCut = strings.ToValidUTF8(string(end(log.bytes)), "�"), log.isCut || len(log.bytes) > logBytes
	return f
}

func invalidModule(format string, args ...any) *frame.Failure {
	return &frame.Failure{Type: frame.InvalidModule, Message: fmt.Sprintf(format, args...)}
}

func invalidReply(format string, args ...any) *frame.Failure {
	return &frame.Failure{Type: frame.InvalidReply, Message: fmt.Sprintf(format, args...)}
}
