package wasm

import (
	"math"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate prevents the process from inheriting open files of this program, and makes the kernel kill it
// when this program dies. The process gets a group of its own, so that an interrupt from the terminal does
// not reach it.
func isolate(c *exec.Cmd) {
	// A kernel before 5.11 cannot do this. The files that this program opens are not inherited anyway.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
