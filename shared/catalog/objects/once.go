package objects

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/format"
	"tiltyard/shared/objectstore"
)

// PutOnce puts an object if there is none at the key, and returns the content that is there then: data, or that
// of another writer who was faster. When the answer of the put is lost, it reads the object. The error is that
// of [Unsettled] if the outcome stays unknown.
func PutOnce(ctx context.Context, store objectstore.Store, key string, data []byte) (there []byte, info objectstore.Info, err error) {
	for attempt := 1; ; attempt++ {
		info, err := store.Put(ctx, key, data, objectstore.Condition{IfAbsent: true})
		if !Taken(err) && !errors.Is(err, objectstore.ErrUnknownOutcome) {
			return data, info, err
		}
		there, info, read := store.Get(ctx, key)
		switch {
		case read == nil:
			return there, info, nil
		case attempt == tries || !Missing(read):
			return nil, objectstore.Info{}, Unsettled(errors.Join(objectstore.ErrUnknownOutcome, err, read))
		}
	}
}

// WriteOnce is [PutOnce] for an object. It loads the object that is there then into there.
func (s Store) WriteOnce(ctx context.Context, key string, object, there any) error {
	data, err := encode(object)
	if err != nil {
		return fmt.Errorf("encode record %s: %w", key, err)
	}
	if data, _, err = PutOnce(ctx, s.Store, key, data); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return format.Decode("record "+key, data, there)
}

// Discard deletes an object that is no longer used, again when the answer was lost. There need not be one.
func Discard(ctx context.Context, store objectstore.Store, key string) error {
	for attempt := 1; ; attempt++ {
		err := store.Delete(ctx, key, objectstore.Condition{})
		if !errors.Is(err, objectstore.ErrUnknownOutcome) || attempt == tries {
			return err
		}
	}
}
