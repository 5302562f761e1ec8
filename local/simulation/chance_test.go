package simulation_test

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
)

// What is here makes the same seed the same history.

// chance is the random numbers that are drawn in a world, by whatever asks for secure ones.
// After each decision of the scheduler it begins anew, so that what was drawn before, by
// goroutines that time woke together, makes no difference from then on.
type chance struct {
	mu   sync.Mutex
	seed uint64
	from *rand.ChaCha8
}

func newChance(seed uint64) *chance {
	c := &chance{seed: seed, from: rand.NewChaCha8([32]byte{})}
	c.begin(0)
	return c
}

// begin starts the numbers of a step.
func (c *chance) begin(step int64) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], c.seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(step))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from.Seed(key)
}

func (c *chance) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from.Read(b)
}

// settleDown lets one goroutine run at a time.
func settleDown(t *testing.T) {
	processors, garbage := runtime.GOMAXPROCS(1), debug.SetGCPercent(400)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(garbage)
	})
}

// maxGarbage is how much of it may lie about between two histories.
const maxGarbage = 128 << 20

// undisturbed does work that no collection of garbage interrupts.
func undisturbed(work func()) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	work()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(sample); sample[0].Value.Uint64() > maxGarbage {
		runtime.GC()
	}
}
