package host

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"tiltyard/shared/engine/udf/wasm/frame"
)

// wasiModule is the only module that a function may import from.
const wasiModule = "wasi_snapshot_preview1"

// Error numbers of WASI preview 1.
const (
	success     = 0
	badFile     = 8
	badAddress  = 21
	notProvided = 52
)

// signatures are the functions of WASI preview 1, with the types of their parameters: i for i32, I for i64.
// All return an error number, except proc_exit. Functions missing in [world.functions] return ENOSYS.
//
// Source: legacy/preview1/witx/wasi_snapshot_preview1.witx of WebAssembly/WASI.
var signatures = map[string]string{
	"args_get": "ii", "args_sizes_get": "ii", "environ_get": "ii", "environ_sizes_get": "ii",
	"clock_res_get": "ii", "clock_time_get": "iIi", "random_get": "ii", "sched_yield": "",
	"proc_exit": "i", "proc_raise": "i", "poll_oneoff": "iiii",
	"fd_advise": "iIIi", "fd_allocate": "iII", "fd_close": "i", "fd_datasync": "i", "fd_fdstat_get": "ii",
	"fd_fdstat_set_flags": "ii", "fd_fdstat_set_rights": "iII", "fd_filestat_get": "ii",
	"fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi", "fd_pread": "iiiIi",
	"fd_prestat_get": "ii", "fd_prestat_dir_name": "iii", "fd_pwrite": "iiiIi", "fd_read": "iiii",
	"fd_readdir": "iiiIi", "fd_renumber": "ii", "fd_seek": "iIii", "fd_sync": "i", "fd_tell": "ii",
	"fd_write":              "iiii",
	"path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi",
	"path_link": "iiiiiii", "path_open": "iiiiiIIii", "path_readlink": "iiiiii", "path_remove_directory": "iii",
	"path_rename": "iiiiii", "path_symlink": "iiiii", "path_unlink_file": "iii",
	"sock_accept": "iii", "sock_recv": "iiiiii", "sock_send": "iiiii", "sock_shutdown": "ii",
}

// A world is the environment of a module, without its arguments. It is identical for each call with
// the same batch, so that functions are deterministic.
type world struct {
	time        time.Time
	ticks       uint64 // readings of the monotonic clock
	environment [][]byte
	random      io.Reader
	log         tail
}

// newWorld returns the environment for opening a module: its variables, its clock, and random bytes
// from the seed.
func newWorld(order *frame.Order) *world {
	w := &world{time: order.Time}
	for _, name := range slices.Sorted(maps.Keys(order.Environment)) {
		w.environment = append(w.environment, []byte(name+"="+order.Environment[name]+"\x00"))
	}
	w.begin([]byte(order.Seed), nil)
	return w
}

// begin derives the following random bytes from the seed and the argument alone, and discards the module's
// earlier output.
func (w *world) begin(seed, argument []byte) {
	w.log.bytes = w.log.bytes[:0]
	digest := sha256.Sum256(binary.LittleEndian.AppendUint64(slices.Clone(seed), xxhash.Sum64(argument)))
	w.random = rand.NewChaCha8(digest)
}

// instantiate offers the functions of WASI to the modules of a runtime.
func (w *world) instantiate(ctx context.Context, runtime wazero.Runtime) error {
	functions := w.functions()
	builder := runtime.NewHostModuleBuilder(wasiModule)
	for name, signature := range signatures {
		var params []api.ValueType
		for _, letter := range signature {
			if letter == 'I' {
				params = append(params, api.ValueTypeI64)
			} else {
				params = append(params, api.ValueTypeI32)
			}
		}
		results := []api.ValueType{api.ValueTypeI32}
		f, ok := functions[name]
		// A module may import functions without an implementation. They return ENOSYS.
		if !ok {
			f = func(api.Module, []uint64) uint64 { return notProvided }
		}
		call := func(_ context.Context, m api.Module, stack []uint64) { stack[0] = f(m, stack) }
		if name == "proc_exit" {
			results, call = nil, exit
		}
		builder.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(call), params, results).Export(name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

func exit(ctx context.Context, m api.Module, stack []uint64) {
	code := uint32(stack[0])
	_ = m.CloseWithExitCode(ctx, code)
	panic(sys.NewExitError(code)) // the runtime returns it from the call of the module
}

// functions returns the implemented WASI functions by name.
func (w *world) functions() map[string]func(m api.Module, args []uint64) uint64 {
	none := func(m api.Module, args []uint64) uint64 { return writeSizes(m, args, 0, 0) }
	return map[string]func(m api.Module, args []uint64) uint64{
		"args_sizes_get":    none,
		"args_get":          func(api.Module, []uint64) uint64 { return success },
		"environ_sizes_get": w.environSizes,
		"environ_get":       w.environ,
		"clock_time_get":    w.clock,
		"random_get":        w.fillRandom,
		"fd_write":          w.write,
		// There are no preopened folders: this error ends a library's enumeration of them.
		"fd_prestat_get": func(api.Module, []uint64) uint64 { return badFile },
	}
}

// answer returns the error number of a function that has written its answers, or could not.
func answer(written bool) uint64 {
	if !written {
		return badAddress
	}
	return success
}

func writeSizes(m api.Module, args []uint64, count, bytes int) uint64 {
	memory := m.Memory()
	return answer(memory != nil && memory.WriteUint32Le(uint32(args[0]), uint32(count)) && memory.WriteUint32Le(uint32(args[1]), uint32(bytes)))
}

// environSizes writes the number of variables, and the bytes of their texts.
func (w *world) environSizes(m api.Module, args []uint64) uint64 {
	bytes := 0
	for _, variable := range w.environment {
		bytes += len(variable)
	}
	return writeSizes(m, args, len(w.environment), bytes)
}

// environ implements environ_get: it writes a pointer per variable to the first argument, and the texts to
// the second.
func (w *world) environ(m api.Module, args []uint64) uint64 {
	memory := m.Memory()
	place, text := uint32(args[0]), uint32(args[1])
	for _, variable := range w.environment {
		if memory == nil || !memory.WriteUint32Le(place, text) || !memory.Write(text, variable) {
			return badAddress
		}
		place += 4
		text += uint32(len(variable))
	}
	return success
}

// clock returns the time of the order. The monotonic clock advances a microsecond per reading, so that a
// module that waits for it terminates.
func (w *world) clock(m api.Module, args []uint64) uint64 {
	now := uint64(w.time.UnixNano())
	if args[0] != 0 {
		w.ticks++
		now = w.ticks * 1000
	}
	memory := m.Memory()
	return answer(memory != nil && memory.WriteUint64Le(uint32(args[2]), now))
}

// fillRandom implements random_get with the deterministic generator.
func (w *world) fillRandom(m api.Module, args []uint64) uint64 {
	if m.Memory() == nil {
		return badAddress
	}
	buffer, ok := m.Memory().Read(uint32(args[0]), uint32(args[1]))
	if ok {
		_, _ = w.random.Read(buffer) // it never fails
	}
	return answer(ok)
}

// write accepts the module's writes to standard output and standard error.
func (w *world) write(m api.Module, args []uint64) uint64 {
	if file := uint32(args[0]); file != 1 && file != 2 {
		return badFile
	}
	memory := m.Memory()
	if memory == nil {
		return badAddress
	}
	place, count, written := uint32(args[1]), uint32(args[2]), uint32(0)
	// The number of buffers comes from the module, so the loop is bounded.
	for range min(count, 1024) {
		start, ok := memory.ReadUint32Le(place)
		size, ok2 := memory.ReadUint32Le(place + 4)
		text, ok3 := memory.Read(start, size)
		if !ok || !ok2 || !ok3 {
			return badAddress
		}
		w.log.add(text)
		place += 8
		written += size
	}
	return answer(memory.WriteUint32Le(uint32(args[3]), written))
}

// logBytes is the size of the kept end of a module's output.
const logBytes = 64 << 10

// A tail keeps the end of the data written to it.
type tail struct {
	bytes []byte
	isCut bool // there was more before
}

// add appends text, and keeps at least the last logBytes bytes. It cuts only at twice that size, so that
// the cost per byte is constant.
func (t *tail) add(text []byte) {
	if len(text) > logBytes {
		t.bytes, t.isCut = t.bytes[:0], true
	}
	text = end(text)
	if len(t.bytes)+len(text) > 2*logBytes {
		t.bytes, t.isCut = append(t.bytes[:0], end(t.bytes)...), true
	}
	t.bytes = append(t.bytes, text...)
}

func end(text []byte) []byte { return text[max(0, len(text)-logBytes):] }
