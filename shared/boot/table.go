package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"tiltyard/shared/storage/objectstore"
)

// OpenTable opens the location of one table without a catalog, for inspection: a path, a file://
// URL, or s3://bucket/key by the clients. It does not check that there is a table. It opens
// a directory read-only and does not change it. The caller must call done at the end.
func OpenTable(place string, clients Clients, log *slog.Logger) (at objectstore.Location, done func() error, err error) {
	parsed, err := parsePlace(place)
	if err != nil {
		return at, nil, fmt.Errorf("%s: %w", objectstore.URI(place), err)
	}
	if !isBucket(parsed) {
		return openTableDirectory(parsed)
	}
	u, err := url.Parse(parsed)
	if err != nil {
		return at, nil, err
	}
	root, err := (&bucketOpener{clients: clients, log: log}).open(bucketScheme + u.Host)
	if err != nil {
		return at, nil, err
	}
	roots, err := objectstore.NewRoots(root)
	if err != nil {
		return at, nil, err
	}
	at, err = roots.Resolve(parsed)
	return at, func() error { return nil }, err
}

// openTableDirectory opens the parent of a table's directory, because the keys of a table need a
// prefix.
func openTableDirectory(path string) (at objectstore.Location, done func() error, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return at, nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return at, nil, err
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		return at, nil, err
	case !info.IsDir():
		return at, nil, fmt.Errorf("%s is a file; the path of a table is its directory", path)
	case filepath.Dir(path) == path:
		return at, nil, errors.New("the root of the file system is not a Lance table")
	}
	store, err := openReadOnly(filepath.Dir(path))
	if err != nil {
		return at, nil, err
	}
	uri := url.URL{Scheme: "file", Path: path}
	return objectstore.Location{URI: uri.String(), Store: store, Prefix: filepath.Base(path)}, store.Close, nil
}
