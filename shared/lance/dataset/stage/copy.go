package stage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// copyPart is the number of bytes copied at a time.
const copyPart = 8 << 20

// CopyFile copies a data file from another location under a new name, which it returns relative to
// the data folder. The copy is durable when it returns. If blobs is true, it copies the blob side
// files too.
func (p Place) CopyFile(ctx context.Context, from objectstore.Store, key string, blobs bool) (string, error) {
	name := newFileName()
	to := p.Prefix + "/data/" + name
	if blobs {
		if err := p.copySideFiles(ctx, from, key, to); err != nil {
			return "", err
		}
	}
	return name, p.copyObject(ctx, from, key, to)
}

// CopyTo copies a file from another location to a path below the table. The copy is durable when it
// returns.
func (p Place) CopyTo(ctx context.Context, path string, from objectstore.Store, key string) error {
	return p.copyObject(ctx, from, key, p.Prefix+"/"+path)
}

// copySideFiles copies the blob side files of a data file.
func (p Place) copySideFiles(ctx context.Context, from objectstore.Store, key, to string) error {
	folder := strings.TrimSuffix(key, ".lance") + "/"
	for side, err := range objectstore.Objects(ctx, from, objectstore.ListOptions{Prefix: folder, Limit: listPage}) {
		if err != nil {
			return fmt.Errorf("list the blobs of %s: %w", key, err)
		}
		if err := p.copyObject(ctx, from, side.Key, strings.TrimSuffix(to, ".lance")+"/"+strings.TrimPrefix(side.Key, folder)); err != nil {
			return err
		}
	}
	return nil
}

// listPage is the number of names per listing request.
const listPage = 1000

// copyObject copies an object inside the storage service if both ends are there, and otherwise in
// parts. A concurrent change of the object is an error.
func (p Place) copyObject(ctx context.Context, from objectstore.Store, key, to string) error {
	_, was, err := from.GetRanges(ctx, key)
	if err == nil {
		err = objectstore.CopyWithin(ctx, from, was, p.Store, to)
		if errors.Is(err, errors.ErrUnsupported) {
			err = p.copyParts(ctx, from, was, to)
		}
	}
	if errors.Is(err, objectstore.ErrPrecondition) {
		err = fmt.Errorf("%w: the object changed while it was copied", lance.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", key, to, err)
	}
	return nil
}

// copyParts reads and writes an object part by part. If the object differs from was, the error is
// [objectstore.ErrPrecondition].
func (p Place) copyParts(ctx context.Context, from objectstore.Store, was objectstore.Info, to string) error {
	held, err := memory.Take(ctx, copyPart)
	if err != nil {
		return err
	}
	defer held.Release()
	u := p.newUpload(to)
	if err := u.copy(ctx, from, was); err != nil {
		u.abort()
		return err
	}
	return nil
}

// copy streams an object into the upload and makes it durable.
func (u *upload) copy(ctx context.Context, from objectstore.Store, was objectstore.Info) error {
	to := u.writer(ctx)
	for at := int64(0); at < was.Size || at == 0; at += copyPart {
		part, info, err := from.GetRanges(ctx, was.Key, objectstore.Range{Offset: at, Length: min(copyPart, was.Size-at)})
		if err != nil {
			return err
		}
		if info.ETag != was.ETag {
			return objectstore.ErrPrecondition
		}
		if _, err := to.Write(part[0]); err != nil {
			return err
		}
	}
	var put errgroup.Group
	return errors.Join(u.finish(ctx, &put), put.Wait())
}
