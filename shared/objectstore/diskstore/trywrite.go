package diskstore

import (
	"context"
	"fmt"
	"time"

	"tiltyard/shared/objectstore"
)

// TryWrite implements objectstore.WriteTrier. It writes and syncs an unfinished file, which no
// listing shows, and removes it. If a crash leaves the file behind, Open removes it with the
// others.
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
