package main

import (
	"runtime"
	"runtime/debug"
)

// heapFloor is the heap size below which a collection is not worthwhile.
const heapFloor = 64 << 20

// worthwhile is the minimum ratio of the memory limit to heapFloor for using the floor.
const worthwhile = 32

// holdHeapFloor makes the heap look larger by heapFloor bytes, until release is called. The
// collector then runs once for each such amount that is allocated. Without it, while little is
// cached, it would run at every second upload. The bytes are never touched, so they take no
// physical memory, but they count against the memory limit.
func holdHeapFloor() (release func()) {
	if debug.SetMemoryLimit(-1) < heapFloor*worthwhile {
		return func() {}
	}
	floor := make([]byte, heapFloor)
	return func() { runtime.KeepAlive(floor) }
}
