package diskstore

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tiltyard/shared/process/backoff"
)

// stripeCount is part of the layout: all processes must choose the same lock file for a key.
const stripeCount = 256

// A lock is held for one synced write at most. A process that finds it taken waits firstWait, then twice as
// long, and so on up to lastWait.
const (
	firstWait = 20 * time.Microsecond
	lastWait  = 2 * time.Millisecond
)

// A lockTable serializes the writers of one key across all processes. Keys share a fixed number of
// lock files. These are never removed, because a lock on a removed file would exclude no other
// process. The system frees the locks of a process that dies.
type lockTable struct {
	root    *os.Root
	stripes [stripeCount]stripe
}

// A stripe is one lock file. A file lock belongs to the open file and not to a goroutine, so turn
// serializes the goroutines of this process.
type stripe struct {
	turn chan struct{} // holds one element while a goroutine has the lock
	file *os.File      // opened by the first goroutine that has the turn
}

func newLockTable(root *os.Root) *lockTable {
	t := &lockTable{root: root}
	for i := range t.stripes {
		t.stripes[i].turn = make(chan struct{}, 1)
	}
	return t
}

// lock takes the lock of key and returns a function that frees it. It fails when ctx ends.
func (t *lockTable) lock(ctx context.Context, key string) (unlock func(), err error) {
	n := crc32.ChecksumIEEE([]byte(key)) % stripeCount
	s := &t.stripes[n]
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.file == nil {
		name := fmt.Sprintf("%s/%02x", locksDir, n)
		if s.file, err = t.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
			s.file = nil
		}
	}
	if err == nil {
		err = flock(ctx, int(s.file.Fd()))
	}
	if err != nil {
		<-s.turn
		return nil, fmt.Errorf("lock: %w", err)
	}
	return func() {
		_ = unix.Flock(int(s.file.Fd()), unix.LOCK_UN)
		<-s.turn
	}, nil
}

// flock polls, because a wait inside the system would not end with ctx.
func flock(ctx context.Context, fd int) error {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (t *lockTable) close() error {
	var errs []error
	for i := range t.stripes {
		if f := t.stripes[i].file; f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
