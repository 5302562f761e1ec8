package memstore

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/storage/objectstore"
)

var _ objectstore.Copier = (*Store)(nil)

// CopyFrom implements objectstore.Copier for stores in memory. The copy aliases the bytes, because objects
// are immutable.
func (s *Store) CopyFrom(ctx context.Context, from objectstore.Store, was objectstore.Info, key string) error {
	source, ok := objectstore.Innermost(from).(*Store)
	if !ok {
		return fmt.Errorf("copy %q to %q: %w", was.Key, key, errors.ErrUnsupported)
	}
	if err := objectstore.CheckPut(key, objectstore.Condition{}); err != nil {
		return err
	}
	o, err := source.find(ctx, was.Key)
	if errors.Is(err, objectstore.ErrNotExist) || err == nil && o.info.ETag != was.ETag {
		err = objectstore.ErrPrecondition
	}
	if err != nil {
		return fmt.Errorf("copy %q to %q: %w", was.Key, key, err)
	}
	_, err = s.put(key, o.data, objectstore.Condition{})
	return err
}
