package main

import (
	"runtime"
	"runtime/debug"
)

// heapFloor is the heap size below which a collection is not worthwhile.
const heapFloor = 64 << 20

// worthwhile is the least ratio of the heap's limit to the floor at which the floor is used.
const worthwhile = 32

// holdHeapFloor makes the heap look larger by heapFloor bytes, until the returned function is
// called. The collector then runs once for each such amount that is allocated. Without it, while
// little is cached, it would run at every second upload. The bytes are never touched, so they take
// no physical memory, but they count against the limit of the heap.
func holdHeapFloor() (release func()) {
	if debug.SetMemoryLimit(-1) < heapFloor*worthwhile {
		return func() {}
	}
	floor := make([]byte, heapFloor)
	return func() { runtime.KeepAlive(floor) }
}
