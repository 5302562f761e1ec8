package diskstore

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"tiltyard/shared/objectstore"
)

// To free space on a full disk takes a little space: the catalog notes that a table is being deleted before it deletes
// it, and a job has a record. So the store keeps a file that it gives up for such writes ([objectstore.Freeing]), and
// makes again when there is space, before other writes take it. Processes share the file.

const (
	reserveFile = objectstore.ReservedName + "/reserve"
	// reserveBytes is enough for some dozens of small objects, of which each takes a block of the file system.
	reserveBytes = 256 << 10
	// reservePause is how often a process tries to make the file again.
	reservePause = time.Second
)

// A reserve is what a process knows of the file.
type reserve struct {
	mu    sync.Mutex
	spent bool      // the file is given up, or could not be made
	tried time.Time // when it was last tried to make the file
}

// withReserve does a write, and repeats it after the reserve is given up if the disk is full and ctx is one of
// [objectstore.Freeing].
func (s *Store) withReserve(ctx context.Context, write func() error) error {
	frees := objectstore.IsFreeing(ctx)
	if !frees {
		s.keepReserve(time.Now())
	}
	err := write()
	if !frees || !objectstore.IsFull(err) || errors.Is(err, objectstore.ErrUnknownOutcome) {
		return err
	}
	s.giveReserve()
	return write()
}

// giveReserve deletes the file. Another process may have done so.
func (s *Store) giveReserve() {
	s.reserve.mu.Lock()
	defer s.reserve.mu.Unlock()
	s.reserve.spent, s.reserve.tried = true, time.Now()
	_ = s.root.Remove(reserveFile)
}

// keepReserve makes the file if it was given up. It does nothing while there is no space.
func (s *Store) keepReserve(now time.Time) {
	s.reserve.mu.Lock()
	defer s.reserve.mu.Unlock()
	if !s.reserve.spent || now.Sub(s.reserve.tried).Abs() < reservePause {
		return
	}
	s.reserve.tried = now
	s.reserve.spent = s.makeReserve() != nil
}

// makeReserve makes the file unless it is there. Its bytes are random, because file systems keep no blocks for zeros.
func (s *Store) makeReserve() error {
	file, err := s.root.OpenFile(reserveFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	content := make([]byte, reserveBytes)
	_, _ = rand.Read(content) // never returns an error
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, s.root.Remove(reserveFile))
	}
	return nil
}
