package boot

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/diskstore"
)

// openStores opens the root and the allowed locations. Only the root is made when it is
// missing: a location that is not there is more likely a slip of the pen.
func openStores(c Config) (*objectstore.Roots, error) {
	home, err := openDirectory(c.Root)
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	roots := []objectstore.Root{home}
	var wrong []error
	for _, location := range c.AllowLocations {
		root, err := openAllowed(location)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("allow-location: %w", err))
			continue
		}
		roots = append(roots, root)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return objectstore.NewRoots(roots...)
}

func openAllowed(path string) (objectstore.Root, error) {
	if info, err := os.Stat(path); err != nil {
		return objectstore.Root{}, err
	} else if !info.IsDir() {
		return objectstore.Root{}, fmt.Errorf("%s is not a directory", path)
	}
	return openDirectory(path)
}

// openDirectory opens the store on a directory. Its URI is absolute and free of links:
// locations are compared as they are spelled, and other programs are told this spelling.
func openDirectory(path string) (objectstore.Root, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return objectstore.Root{}, err
	}
	store, err := diskstore.Open(path)
	if err != nil {
		return objectstore.Root{}, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return objectstore.Root{}, errors.Join(err, store.Close())
	}
	uri := url.URL{Scheme: "file", Path: path}
	return objectstore.Root{URI: uri.String(), Store: store}, nil
}
