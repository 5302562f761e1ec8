package wasm_test

import (
	"encoding/binary"
	"maps"
	"slices"
)

// A module is a WebAssembly module under construction. A function is the bytes of its code without the
// final end. Omitted functions get the minimal code that the ABI permits.
type module struct {
	pages    uint32            // of memory; 0 is 64
	imports  [][2]string       // module and name; functions () -> ()
	code     map[string][]byte // by exported name
	locals   map[string]uint32 // indices of additional locals of type i32
	data     map[uint32][]byte // by place
	without  string            // an export that is left out
	start    bool              // calls the function close when it is instantiated
	exitCode bool              // imports proc_exit, as function 0
}

// Places in the memory of a module.
const (
	emptyReply = 16 // status 0 and no content
	replyAt    = 64 // status, place and size of the content, which the code writes
	dataAt     = 1024
	argumentAt = 1 << 20
)

// types are all types of functions that a module uses: () -> (), () -> i32, i32 -> i32, i32 i32 -> i32,
// i32 i32 -> (), i32 -> ().
var types = [][2]int{{0, 0}, {0, 1}, {1, 1}, {2, 1}, {2, 0}, {1, 0}}

var shapes = map[string]uint32{"tiltyard_abi": 1, "alloc": 2, "free": 4, "open": 3, "call": 3, "close": 0, "_initialize": 0, "helper": 0}

// Instructions.
func constant(v int32) []byte { return append([]byte{0x41}, signed(int64(v))...) }
func local(i byte) []byte     { return []byte{0x20, i} }

var (
	store       = []byte{0x36, 2, 0}
	unreachable = []byte{0x00}
	forever     = []byte{0x03, 0x40, 0x0c, 0, 0x0b} // loop br 0 end
)

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// answer is code that returns a reply.
func answer(status int32, place, size []byte) []byte {
	return join(constant(replyAt), constant(status), store, constant(replyAt+4), place, store, constant(replyAt+8), size, store, constant(replyAt))
}

// identity returns its argument.
var identity = answer(0, local(0), local(1))

func (m module) bytes() []byte {
	code := map[string][]byte{
		"tiltyard_abi": constant(1), "alloc": constant(argumentAt), "free": nil, "open": constant(emptyReply),
		"call": identity, "close": nil,
	}
	maps.Copy(code, m.code)
	names := slices.Sorted(maps.Keys(code))
	out := []byte("\x00asm\x01\x00\x00\x00")

	var section []byte
	for _, t := range types {
		section = append(section, 0x60)
		section = append(section, vector(slices.Repeat([]byte{0x7f}, t[0]), t[0])...)
		section = append(section, vector(slices.Repeat([]byte{0x7f}, t[1]), t[1])...)
	}
	out = appendSection(out, 1, section, len(types))

	section = nil
	if m.exitCode {
		section = join(text("wasi_snapshot_preview1"), text("proc_exit"), []byte{0, 5})
	}
	for _, i := range m.imports {
		section = append(section, join(text(i[0]), text(i[1]), []byte{0, 0})...)
	}
	first := len(m.imports)
	if m.exitCode {
		first++
	}
	out = appendSection(out, 2, section, first)

	section = nil
	for _, name := range names {
		section = append(section, unsigned(shapes[name])...)
	}
	out = appendSection(out, 3, section, len(names))

	pages := m.pages
	if pages == 0 {
		pages = 64
	}
	out = appendSection(out, 5, append([]byte{0}, unsigned(pages)...), 1)

	section = nil
	exports := 0
	if m.without != "memory" {
		section = append(text("memory"), 2, 0)
		exports++
	}
	for i, name := range names {
		if name == m.without || name == "helper" {
			continue
		}
		section = append(section, join(text(name), []byte{0}, unsigned(uint32(first+i)))...)
		exports++
	}
	out = appendSection(out, 7, section, exports)
	if m.start {
		out = append(out, 8, 1, byte(first+slices.Index(names, "close")))
	}

	section = nil
	for _, name := range names {
		body := []byte{0}
		if n := m.locals[name]; n > 0 {
			body = join([]byte{1}, unsigned(n), []byte{0x7f})
		}
		body = join(body, code[name], []byte{0x0b})
		section = append(section, vector(body, len(body))...)
	}
	out = appendSection(out, 10, section, len(names))

	section = nil
	for _, place := range slices.Sorted(maps.Keys(m.data)) {
		section = append(section, join([]byte{0}, constant(int32(place)), []byte{0x0b}, vector(m.data[place], len(m.data[place])))...)
	}
	return appendSection(out, 11, section, len(m.data))
}

func appendSection(out []byte, id byte, content []byte, count int) []byte {
	if count == 0 {
		return out
	}
	content = vector(content, count)
	return append(append(append(out, id), unsigned(uint32(len(content)))...), content...)
}

func vector(content []byte, count int) []byte { return append(unsigned(uint32(count)), content...) }
func text(s string) []byte                    { return vector([]byte(s), len(s)) }
func unsigned(v uint32) []byte                { return binary.AppendUvarint(nil, uint64(v)) }

// signed returns a number in LEB128.
func signed(v int64) []byte {
	var out []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
