package objects

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
)

// PutOnce puts an object if the key is free, and returns the content that is there afterwards: data, or the content of a
// faster writer. If the answer of the put is lost, it reads the object. If the outcome stays unknown, the error is
// [Unsettled].
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

// WriteOnce encodes an object and puts it as [PutOnce] does. It decodes the object that is stored
// afterwards into there.
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

// Discard deletes an unused object, which need not exist. It repeats the request if the answer was
// lost.
func Discard(ctx context.Context, store objectstore.Store, key string) error {
	for attempt := 1; ; attempt++ {
		err := store.Delete(ctx, key, objectstore.Condition{})
		if !errors.Is(err, objectstore.ErrUnknownOutcome) || attempt == tries {
			return err
		}
	}
}
