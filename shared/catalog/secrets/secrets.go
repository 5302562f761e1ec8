// Package secrets stores the secrets of a catalog: records with names of their own and encrypted
// values.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
)

// Secrets keeps secrets. It is safe for concurrent use.
type Secrets struct{ names *naming.Registry }

// New returns the secrets of a registry.
func New(names *naming.Registry) *Secrets { return &Secrets{names} }

// Create gives a name to a sealed value. A taken name is an error of the kind
// [protocol.SecretAlreadyExists], a missing parent NamespaceNotFound.
func (s *Secrets) Create(ctx context.Context, id []string, sealed secretbox.Sealed) error {
	now := s.names.Now().UTC()
	record := &stored.Secret{ID: id, UID: objects.NewUID(), Created: now, Updated: now, Sealed: sealed}
	_, err := s.names.CreateChild(ctx, id, keys.Secret(id), record)
	if objects.Taken(err) {
		return s.names.Taken(ctx, id, &protocol.Error{
			Code: protocol.TableAlreadyExists, Kind: protocol.SecretAlreadyExists,
			Message: fmt.Sprintf("secret %s already exists", keys.Display(id)), Detail: "alter it, or choose another name",
		})
	}
	return err
}

// Get returns the record of a secret. A secret that is missing or that policies hide is an error
// of the kind [protocol.SecretNotFound].
func (s *Secrets) Get(ctx context.Context, id []string) (*stored.Secret, error) {
	record, _, err := s.find(ctx, id)
	return record, err
}

func (s *Secrets) find(ctx context.Context, id []string) (record *stored.Secret, etag string, err error) {
	record = new(stored.Secret)
	etag, found, err := s.names.Store.Find(ctx, keys.Secret(id), record)
	switch {
	case !auth.Sees(ctx, auth.Secret(id)), err == nil && !found:
		return nil, "", notFound(id)
	case err != nil:
		return nil, "", err
	}
	return record, etag, nil
}

func notFound(id []string) error {
	return &protocol.Error{Code: protocol.TableNotFound, Kind: protocol.SecretNotFound, Message: fmt.Sprintf("secret %s does not exist", keys.Display(id))}
}

// Open decrypts the value of a secret. It does not check the rights of the caller: the operator or
// a permitted user must have named the secret for this purpose before.
func (s *Secrets) Open(ctx context.Context, id []string, with secretbox.Opener) ([]byte, error) {
	record := new(stored.Secret)
	_, found, err := s.names.Store.Find(ctx, keys.Secret(id), record)
	if err == nil && !found {
		err = notFound(id)
	}
	if err != nil {
		return nil, err
	}
	return with.Open(ctx, record.ID, record.Sealed)
}

// ByName returns a function that calls [Secrets.Open] for an id as operators write it, with $
// between the names. It returns nil without keys.
func (s *Secrets) ByName(with secretbox.Opener) func(ctx context.Context, id string) ([]byte, error) {
	if with == nil {
		return nil
	}
	return func(ctx context.Context, id string) ([]byte, error) {
		return s.Open(ctx, strings.Split(id, protocol.DefaultDelimiter), with)
	}
}

// Alter replaces the value of a secret. The error is that of [Secrets.Get].
func (s *Secrets) Alter(ctx context.Context, id []string, sealed secretbox.Sealed) error {
	return s.change(ctx, id, func(record *stored.Secret, etag string) error {
		altered := *record
		altered.Sealed, altered.Updated = sealed, s.names.Now().UTC()
		if next := record.Updated.Add(time.Millisecond); altered.Updated.Before(next) {
			altered.Updated = next // clients recognize the replacement by the millisecond
		}
		_, err := s.names.Store.Write(ctx, keys.Secret(id), &altered, objectstore.Condition{IfMatch: etag})
		return err
	})
}

// Drop removes a secret. The error is that of [Secrets.Get].
func (s *Secrets) Drop(ctx context.Context, id []string) error {
	return s.change(ctx, id, func(record *stored.Secret, etag string) error {
		return s.names.Store.Remove(ctx, keys.Secret(id), record.UID, etag)
	})
}

// change calls change with the record of a secret, again if the record has changed meanwhile.
func (s *Secrets) change(ctx context.Context, id []string, change func(record *stored.Secret, etag string) error) error {
	return objects.Race{What: "secret", ID: id, Wait: true}.Run(ctx, func(int) (done bool, err error) {
		record, etag, err := s.find(ctx, id)
		if err != nil {
			return true, err
		}
		return objects.Written(change(record, etag))
	})
}

// Reseal calls reseal with the value of each secret, in all namespaces, and stores the changed
// values. Nothing else of a secret changes, so a repetition continues after a failure. The error
// joins the errors of the secrets that stay as they are; an error of ctx or of the store ends
// Reseal.
func (s *Secrets) Reseal(ctx context.Context, reseal func(ctx context.Context, id []string, sealed secretbox.Sealed) (again secretbox.Sealed, changed bool, err error)) (resealed, all int, err error) {
	var wrong []error
	for object, err := range objectstore.Objects(ctx, s.names.Store, objectstore.ListOptions{Prefix: keys.Records, Limit: objects.PageSize}) {
		if err != nil {
			return resealed, all, fmt.Errorf("list secrets: %w", err)
		}
		if !keys.Secrets.Has(object.Key) {
			continue
		}
		var found, changed bool
		err := objects.Race{What: "secret", ID: []string{object.Key}, Wait: true}.Run(ctx, func(int) (done bool, err error) {
			record := new(stored.Secret)
			etag := ""
			if etag, found, err = s.names.Store.Find(ctx, object.Key, record); err != nil || !found {
				return true, err
			}
			var kept error
			if record.Sealed, changed, kept = reseal(ctx, record.ID, record.Sealed); kept != nil {
				changed, wrong = false, append(wrong, fmt.Errorf("secret %s stays as it is: %w", keys.Display(record.ID), kept))
			}
			if !changed {
				return true, nil
			}
			_, err = s.names.Store.Write(ctx, object.Key, record, objectstore.Condition{IfMatch: etag})
			return objects.Written(err)
		})
		if err != nil {
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
