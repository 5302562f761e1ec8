//go:build unix

package executor

import (
	"os/exec"
	"syscall"
)

// leadGroup lets a command that is not started yet lead a group of processes.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a command and the processes of its group.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fails if all processes have ended
}
