package guest

import (
	"encoding/binary"
	"unsafe"
)

// arguments maps addresses to the buffers that the service fills, so that none is collected.
var arguments = map[uint32][]byte{}

// answer is the reply of a call, and content the bytes to which it refers. They stay valid until
// the next call.
var (
	answer  [12]byte
	content []byte
)

//go:wasmexport tiltyard_abi
func abiVersion() uint32 { return 1 }

//go:wasmexport alloc
func alloc(size uint32) uint32 {
	buffer := make([]byte, max(size, 1))
	at := place(buffer)
	arguments[at] = buffer[:size]
	return at
}

//go:wasmexport free
func free(at, _ uint32) { delete(arguments, at) }

//go:wasmexport open
func openExport(at, _ uint32) uint32 { return reply(open(arguments[at])) }

//go:wasmexport call
func callExport(at, _ uint32) uint32 { return reply(call(arguments[at])) }

//go:wasmexport close
func closeExport() {}

// reply returns the address of the reply: a status, and the address and the size of its content.
func reply(bytes []byte, failed bool) uint32 {
	content = bytes
	clear(answer[:])
	if failed {
		answer[0] = 1
	}
	if len(bytes) > 0 {
		binary.LittleEndian.PutUint32(answer[4:], place(bytes))
		binary.LittleEndian.PutUint32(answer[8:], uint32(len(bytes)))
	}
	return place(answer[:])
}

// place returns the address of a buffer.
func place(bytes []byte) uint32 { return uint32(uintptr(unsafe.Pointer(&bytes[0]))) }
