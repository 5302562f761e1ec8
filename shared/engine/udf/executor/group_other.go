//go:build !unix

package executor

import "os/exec"

// leadGroup does nothing: the system has no groups of processes that end together.
func leadGroup(*exec.Cmd) {}

// killGroup kills a command, and none of the processes that it has started.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // fails when it has ended
}
