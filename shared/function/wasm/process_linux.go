package wasm

import (
	"math"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate keeps files from the process that this program was itself started with, and makes the system
// kill the process when this program dies. An interrupt from the terminal does not reach it: it has a
// group of its own.
func isolate(c *exec.Cmd) {
	// A kernel before 5.11 cannot do this. The files that this program opens are not inherited anyway.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
