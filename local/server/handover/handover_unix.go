//go:build unix

package handover

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"tiltyard/shared/process/backoff"
)

// predecessorVariable contains the process id of the predecessor.
const predecessorVariable = "TILTYARD_PREDECESSOR"

// Offer starts a successor at each SIGUSR2 until the context ends. more is added to the successor's
// environment.
func Offer(ctx context.Context, s *Socket, logger *slog.Logger, more ...string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	go func() {
		defer signal.Stop(signals)
		given := s.outlives.Load()
		for {
			select {
			case <-signals:
			case <-ctx.Done():
				return
			}
			if os.Getpid() == 1 {
				logger.Warn("no successor is started, because the container would end with this process: start a second server beside it")
				continue
			}
			err := succeeded(ctx, s, logger, more)
			if ctx.Err() != nil {
				return
			}
			s.outlives.Store(given)
			logger.Error("the successor could not start; this server goes on", "error", err)
		}
	}()
}

// succeeded starts a successor and returns when it has ended, or when the context ends.
func succeeded(ctx context.Context, s *Socket, logger *slog.Logger, more []string) error {
	listener, ok := s.Listener.(interface{ File() (*os.File, error) })
	if !ok {
		return errors.New("the socket cannot be handed over")
	}
	file, err := listener.File()
	if err != nil {
		return err
	}
	// Start the program by name, because a new release may have replaced the file. The context must not
	// end it.
	successor := exec.CommandContext(context.WithoutCancel(ctx), os.Args[0], os.Args[1:]...)
	successor.Env = append(os.Environ(), socketsVariable+"=1", predecessorVariable+"="+strconv.Itoa(os.Getpid()))
	successor.Env = append(successor.Env, more...)
	successor.Stdout, successor.Stderr = os.Stdout, os.Stderr
	successor.ExtraFiles = []*os.File{file} // becomes descriptor 3
	s.outlives.Store(true)
	err = successor.Start()
	// Start makes calls of the socket blocking, also those of this process, which could then wait for a
	// connection that the successor has accepted.
	err = errors.Join(err, syscall.SetNonblock(int(file.Fd()), true), file.Close())
	if err != nil {
		return err
	}
	logger.Info("handing over", "successor", successor.Process.Pid)
	ended := make(chan error, 1)
	go func() { ended <- successor.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			err = errors.New("it has ended")
		}
		return err
	case <-ctx.Done():
		return nil
	}
}

// Take ends the predecessor, if there is one. The channel is closed when the predecessor has ended.
func Take(ctx context.Context) (gone <-chan struct{}) {
	ended := make(chan struct{})
	pid, _ := strconv.Atoi(os.Getenv(predecessorVariable))
	_ = os.Unsetenv(predecessorVariable) // a successor of this process gets its own value
	if pid == 0 || pid != os.Getppid() {
		close(ended)
		return ended
	}
	_ = syscall.Kill(pid, syscall.SIGTERM) // fails if it has just ended
	go func() {
		defer close(ended)
		for pid == os.Getppid() && backoff.Sleep(ctx, 100*time.Millisecond) == nil {
		}
	}()
	return ended
}
