//go:build !unix

package executor

import "os/exec"

// leadGroup does nothing: the system has no groups of processes that end together.
func leadGroup(*exec.Cmd) {}

// killGroup kills a command, but not the processes that it has started: this platform has no process groups.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // fails if it has ended
}
