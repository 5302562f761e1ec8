package catalog

import (
	"context"
	"errors"
	"fmt"
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
		return nil, "", &protocol.Error{
			Code: protocol.TableNotFound, Kind: protocol.SecretNotFound, Message: fmt.Sprintf("secret %s does not exist", keys.Display(id)),
		}
	case err != nil:
		return nil, "", err
	}
	return record, etag, nil
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
	return stored.LostRace("secret", id, objectstore.ErrPrecondition)
}

// ListSecrets is ListTables for secrets.
func (c *Catalog) ListSecrets(ctx context.Context, parent []string, after string, limit int) (names []string, next string, err error) {
	return c.list(ctx, parent, kindOfSecrets, after, limit)
}
