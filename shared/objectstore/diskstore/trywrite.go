package diskstore

import (
	"context"
	"fmt"

	"tiltyard/shared/objectstore"
)

// TryWrite implements objectstore.WriteTrier: it writes and syncs an unfinished file, which no
// listing shows, and removes it. What a crash leaves of it goes with the other unfinished files.
func (s *Store) TryWrite(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, err := s.newTemp()
	if err != nil {
		return err
	}
	defer t.discard()
	if _, err := t.file.Write(make([]byte, objectstore.TryBytes)); err != nil {
		return fmt.Errorf("write an unfinished file: %w", err)
	}
	// The system may find out only now that there is no room.
	if err := t.file.Sync(); err != nil {
		return fmt.Errorf("sync an unfinished file: %w", err)
	}
	return nil
}
