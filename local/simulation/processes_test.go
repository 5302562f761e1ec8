package simulation_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
)

// shareVariable tells a process which share of a test is its own.
const shareVariable = "SIMULATION_SHARE"

// processes divides the work of a test among as many processes as there are processors, since
// in each of them one goroutine runs at a time. Work is told the number of its share, from 1,
// and how many there are. The process that has started them does none of it and tells what they
// found.
//
// They interrupt goroutines that have run for a while, which another run of the same seed might not:
// the cache of tables waits in a loop for a goroutine that is between two instructions, and if that one
// was interrupted at a call, on a busy machine, there has to be an end of the loop.
func processes(t *testing.T, work func(share, of int)) {
	t.Helper()
	var share, of int
	if _, err := fmt.Sscanf(os.Getenv(shareVariable), "%d/%d", &share, &of); err == nil {
		work(share, of)
		return
	}
	of = runtime.NumCPU()
	found := make([]bytes.Buffer, of)
	errs := make([]error, of)
	var wait sync.WaitGroup
	for n := range of {
		wait.Go(func() {
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", fmt.Sprintf("-test.short=%v", testing.Short()),
				fmt.Sprintf("-seeds=%d", *seedsFlag))
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%d/%d", shareVariable, n+1, of))
			c.Stdout, c.Stderr = &found[n], &found[n]
			errs[n] = c.Run()
		})
	}
	wait.Wait()
	for n, err := range errs {
		t.Logf("share %d of %d:\n%s", n+1, of, found[n].Bytes())
		if err != nil {
			t.Errorf("share %d: %v", n+1, err)
		}
	}
}
