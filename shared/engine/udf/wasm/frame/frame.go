// Package frame defines the messages between a program and the child process that runs a WebAssembly
// function. They are frames on the child's standard input and output:
//
//	0  u8   kind
//	1  u32  length of the content, little-endian
//	5       content
//
// The program sends Setup and Module. The child answers Opened, or Failed and ends. Then each Call is
// answered by a Result, or by Failed. After a failure that is not Recoverable the child ends.
//
// Each side validates the other's bytes as untrusted input, because the child runs foreign code.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Argument is the only argument of a program that is to be the child.
const Argument = "wasm-host"

// A Kind is the kind of a frame.
type Kind byte

// The kinds of frames.
const (
	Setup  Kind = 'S' // an Order in JSON
	Module Kind = 'M' // a WebAssembly module
	Opened Kind = 'O' // nothing
	Call   Kind = 'C' // an Arrow IPC stream of a batch of parameters
	Result Kind = 'R' // an Arrow IPC stream of a batch of outputs
	Failed Kind = 'F' // a Failure in JSON
)

const headerBytes = 5

// MaxText bounds the content of Setup and Failed.
const MaxText = 1 << 20

// ErrInvalid means that bytes are not a frame, or not one of the expected kind.
var ErrInvalid = errors.New("invalid frame")

// An Order is the description of the function that the child receives before the module.
type Order struct {
	Open        json.RawMessage   `json:"open"` // argument of the module's open
	Environment map[string]string `json:"environment,omitempty"`
	Seed        string            `json:"seed"`  // seed of the module's random bytes
	Time        time.Time         `json:"time"`  // the module's clock
	Cache       string            `json:"cache"` // folder for compiled code; "" means none

	ModuleBytes int64 `json:"module_bytes"`
	MemoryBytes int64 `json:"memory_bytes"` // of the module
	CallBytes   int64 `json:"call_bytes"`
	ResultBytes int64 `json:"result_bytes"`
}

// A Failure is the reason why a function could not be opened, or a batch not be computed.
type Failure struct {
	Type        string `json:"type"`
	Message     string `json:"message"`
	Log         string `json:"log,omitempty"`         // the end of the module's output
	LogCut      bool   `json:"log_cut,omitempty"`     // there was more before it
	Recoverable bool   `json:"recoverable,omitempty"` // the child accepts further calls
}

// These are the types of failures that do not come from the function itself.
const (
	InvalidModule = "InvalidModule" // not a module, or it violates the ABI
	Trap          = "Trap"          // an instruction that ends the module, or endless recursion
	Exit          = "Exit"          // the module has called proc_exit
	InvalidReply  = "InvalidReply"  // the reply breaks the ABI
	InputLimit    = "InputLimit"    // a row is larger than a call may be
	OutputLimit   = "OutputLimit"   // the reply exceeds its limit
	TimeLimit     = "TimeLimit"     // the call took too long
	HostFailed    = "HostFailed"    // the child process ended: out of memory, or by a fault
)

// Write writes a frame. A content of several parts needs no copy.
func Write(w io.Writer, kind Kind, parts ...[]byte) error {
	var size int64
	for _, p := range parts {
		size += int64(len(p))
	}
	if size > 1<<32-1 {
		return fmt.Errorf("%w: a content of %d bytes does not fit", ErrInvalid, size)
	}
	head := binary.LittleEndian.AppendUint32([]byte{byte(kind)}, uint32(size))
	for _, p := range append([][]byte{head}, parts...) {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes a frame with v as JSON.
func WriteJSON(w io.Writer, kind Kind, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return Write(w, kind, text)
}

// Next reads the header of the next frame. It returns io.EOF if there is none.
func Next(r io.Reader) (Kind, int64, error) {
	var head [headerBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: its head is cut off: %w", ErrInvalid, err)
		}
		return 0, 0, err
	}
	return Kind(head[0]), int64(binary.LittleEndian.Uint32(head[1:])), nil
}

// Expect reads the header of a frame, and returns its length. The frame must be of kind want, with
// at most most bytes.
func Expect(r io.Reader, want Kind, most int64) (int64, error) {
	kind, size, err := Next(r)
	switch {
	case err != nil:
		return 0, err
	case kind != want:
		return 0, fmt.Errorf("%w: kind %q, not %q", ErrInvalid, kind, want)
	case size > most:
		return 0, fmt.Errorf("%w: %d bytes of kind %q; %d are allowed", ErrInvalid, size, kind, most)
	}
	return size, nil
}

// ReadJSON reads the content of a frame, of size bytes, into v.
func ReadJSON(r io.Reader, size int64, v any) error {
	if size > MaxText {
		return fmt.Errorf("%w: a text of %d bytes; %d are allowed", ErrInvalid, size, MaxText)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return fmt.Errorf("%w: its content is cut off: %w", ErrInvalid, err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
