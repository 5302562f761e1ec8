package diskstore

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// Freeing space on a full disk takes a little space itself: the catalog records the deletion of a table
// before it deletes it, and a job has a record. So the store keeps a reserve file. It deletes the file for
// such writes ([objectstore.Freeing]), and creates it again once there is space. All processes use the same
// file.

const (
	reserveFile = objectstore.ReservedName + "/reserve"
	// reserveBytes suffices for some dozens of small objects, each of which takes a block of the file
	// system.
	reserveBytes = 256 << 10
	// reservePause is the interval between attempts to create the file again.
	reservePause = time.Second
)

// A reserve is the state of the reserve file in this process.
type reserve struct {
	mu    sync.Mutex
	spent bool      // the file is given up, or could not be made
	tried time.Time // when it was last tried to make the file
}

// withReserve does a write. If the disk is full and ctx is a context of [objectstore.Freeing], it deletes
// the reserve and repeats the write.
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

// keepReserve creates the file if it was deleted. It does nothing while the disk is full.
func (s *Store) keepReserve(now time.Time) {
	s.reserve.mu.Lock()
	defer s.reserve.mu.Unlock()
	if !s.reserve.spent || now.Sub(s.reserve.tried).Abs() < reservePause {
		return
	}
	s.reserve.tried = now
	s.reserve.spent = s.makeReserve() != nil
}

// makeReserve creates the file unless it exists. Its bytes are random, because some file systems allocate
// no blocks for zeros.
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
