package host

import (
	"fmt"
	"syscall"

	"tiltyard/shared/engine/udf/wasm/frame"
)

// ownMemory is the memory of the process without the module's: the Go runtime, the messages, and
// the compilation of a module.
const ownMemory = 768 << 20

// limitProcess bounds the memory of the process and disables core dumps. Only writable memory counts.
func limitProcess(order *frame.Order) error {
	most := uint64(order.MemoryBytes + order.CallBytes + ownMemory)
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("limit the memory of the process: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("forbid memory images of the process: %w", err)
	}
	return nil
}
