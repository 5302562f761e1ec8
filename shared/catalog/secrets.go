package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sealing"
)

// CreateSecret gives a name to a sealed value. A taken name is an error of the kind
// [protocol.SecretAlreadyExists], a missing parent NamespaceNotFound.
func (c *Catalog) CreateSecret(ctx context.Context, id []string, sealed sealing.Sealed) error {
	now := c.names.Now().UTC()
	record := &stored.Secret{ID: id, UID: objects.NewUID(), Created: now, Updated: now, Sealed: sealed}
	_, err := c.names.CreateChild(ctx, id, keys.Secret(id), record)
	if errors.Is(err, objectstore.ErrPrecondition) {
		return c.names.Taken(ctx, id, &protocol.Error{
			Code: protocol.TableAlreadyExists, Kind: protocol.SecretAlreadyExists,
			Message: fmt.Sprintf("secret %s already exists", keys.Display(id)), Detail: "alter it, or choose another name",
		})
	}
	return err
}

// Secret returns the record of a secret. A secret that is missing or that policies hide is an error
// of the kind [protocol.SecretNotFound].
func (c *Catalog) Secret(ctx context.Context, id []string) (*stored.Secret, error) {
	record, _, err := c.secret(ctx, id)
	return record, err
}

func (c *Catalog) secret(ctx context.Context, id []string) (record *stored.Secret, etag string, err error) {
	record = new(stored.Secret)
	etag, found, err := c.store.Find(ctx, keys.Secret(id), record)
	switch {
	case !auth.Sees(ctx, auth.Secret(id)), err == nil && !found:
		return nil, "", secretNotFound(id)
	case err != nil:
		return nil, "", err
	}
	return record, etag, nil
}

func secretNotFound(id []string) error {
	return &protocol.Error{Code: protocol.TableNotFound, Kind: protocol.SecretNotFound, Message: fmt.Sprintf("secret %s does not exist", keys.Display(id))}
}

// OpenSecret returns the value of a secret for what the operator, or one who may use the secret, has named
// it for. It does not check what the caller may do.
func (c *Catalog) OpenSecret(ctx context.Context, id []string, with sealing.Opener) ([]byte, error) {
	record := new(stored.Secret)
	_, found, err := c.store.Find(ctx, keys.Secret(id), record)
	if err == nil && !found {
		err = secretNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	return with.Open(ctx, record.ID, record.Sealed)
}

// SecretsByName returns OpenSecret for ids as the operator writes them: names with $ between. It is nil
// without keys.
func (c *Catalog) SecretsByName(with sealing.Opener) func(ctx context.Context, id string) ([]byte, error) {
	if with == nil {
		return nil
	}
	return func(ctx context.Context, id string) ([]byte, error) {
		return c.OpenSecret(ctx, strings.Split(id, protocol.DefaultDelimiter), with)
	}
}

// AlterSecret replaces the value of a secret. The error is that of [Catalog.Secret].
func (c *Catalog) AlterSecret(ctx context.Context, id []string, sealed sealing.Sealed) error {
	return c.changeSecret(ctx, id, func(record *stored.Secret, etag string) error {
		altered := *record
		altered.Sealed, altered.Updated = sealed, c.names.Now().UTC()
		if next := record.Updated.Add(time.Millisecond); altered.Updated.Before(next) {
			altered.Updated = next // clients recognize the replacement by the millisecond
		}
		_, err := c.store.Write(ctx, keys.Secret(id), &altered, objectstore.Condition{IfMatch: etag})
		return err
	})
}

// DropSecret removes a secret. The error is that of [Catalog.Secret].
func (c *Catalog) DropSecret(ctx context.Context, id []string) error {
	return c.changeSecret(ctx, id, func(record *stored.Secret, etag string) error {
		return c.store.Remove(ctx, keys.Secret(id), record.UID, etag)
	})
}

// changeSecret calls change with the record of a secret, again if the record has changed meanwhile.
func (c *Catalog) changeSecret(ctx context.Context, id []string, change func(record *stored.Secret, etag string) error) error {
	for attempt := range objects.Tries {
		record, etag, err := c.secret(ctx, id)
		if err != nil {
			return err
		}
		if err := change(record, etag); !objects.Changed(err) {
			return err
		}
		if err := objects.Pause(ctx, attempt); err != nil {
			return err
		}
	}
	return objects.LostRace("secret", id, objectstore.ErrPrecondition)
}

// ResealSecrets calls reseal with the value of each secret, in all namespaces, and replaces those that
// reseal changes. Nothing else of a secret changes, so that a repetition continues where this ended.
// The error joins those of secrets that stay as they are; an error of ctx or of the store ends it.
func (c *Catalog) ResealSecrets(ctx context.Context, reseal func(ctx context.Context, id []string, sealed sealing.Sealed) (again sealing.Sealed, changed bool, err error)) (resealed, all int, err error) {
	var wrong []error
	for object, err := range objectstore.Objects(ctx, c.store, objectstore.ListOptions{Prefix: keys.Records, Limit: objects.PageSize}) {
		if err != nil {
			return resealed, all, fmt.Errorf("list secrets: %w", err)
		}
		if !keys.Secrets.Has(object.Key) {
			continue
		}
		changed, found, err := c.reseal(ctx, object.Key, reseal)
		var refused *resealError
		if errors.As(err, &refused) {
			wrong = append(wrong, err)
		} else if err != nil {
			return resealed, all, err
		}
		if found {
			all++
		}
		if changed {
			resealed++
		}
	}
	return resealed, all, errors.Join(wrong...)
}

// A resealError is the error of one secret, which keeps no others from being sealed again.
type resealError struct {
	id  []string
	err error
}

func (e *resealError) Error() string {
	return fmt.Sprintf("secret %s stays as it is: %v", keys.Display(e.id), e.err)
}

func (e *resealError) Unwrap() error { return e.err }

// reseal seals the value of a record again. A record that is gone by now is not found.
func (c *Catalog) reseal(ctx context.Context, key string, reseal func(ctx context.Context, id []string, sealed sealing.Sealed) (sealing.Sealed, bool, error)) (changed, found bool, err error) {
	for attempt := range objects.Tries {
		record := new(stored.Secret)
		etag, found, err := c.store.Find(ctx, key, record)
		if err != nil || !found {
			return false, false, err
		}
		again, changed, err := reseal(ctx, record.ID, record.Sealed)
		if err != nil {
			return false, true, &resealError{record.ID, err}
		}
		if !changed {
			return false, true, nil
		}
		record.Sealed = again
		if _, err = c.store.Write(ctx, key, record, objectstore.Condition{IfMatch: etag}); !objects.Changed(err) {
			return err == nil, true, err
		}
		if err := objects.Pause(ctx, attempt); err != nil {
			return false, true, err
		}
	}
	return false, true, fmt.Errorf("seal the secret of %s again: %w", key, objectstore.ErrPrecondition)
}
