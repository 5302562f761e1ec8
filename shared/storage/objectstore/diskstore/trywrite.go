package diskstore

import (
	"context"
	"fmt"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// TryWrite implements objectstore.WriteTrier. It writes, syncs and removes a temporary file, which listings
// do not contain. After a crash, Open removes the file.
func (s *Store) TryWrite(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.keepReserve(time.Now())
	t, err := s.newTemp()
	if err != nil {
		return err
	}
	defer t.discard()
	if _, err := t.file.Write(make([]byte, objectstore.TryBytes)); err != nil {
		return fmt.Errorf("write an unfinished file: %w", err)
	}
	// The system may notice only now that the disk is full.
	if err := t.file.Sync(); err != nil {
		return fmt.Errorf("sync an unfinished file: %w", err)
	}
	return nil
}
