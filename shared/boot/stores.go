package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/rangecache"
	"tiltyard/shared/storage/objectstore/s3store"
)

// openStores opens the root and the allowed locations. It creates a missing root directory, but not
// a missing allowed location, which is more likely a typing mistake. It sends no request to
// buckets.
func openStores(c Config, clients Clients, budget *memory.Budget, log *slog.Logger) (*objectstore.Roots, *rangecache.Cache, error) {
	buckets := &bucketOpener{clients: clients, log: log}
	home, err := openRoot(c, c.Root, buckets)
	if err != nil {
		return nil, nil, fmt.Errorf("root: %w", err)
	}
	roots := []objectstore.Root{home}
	var wrong []error
	for _, location := range c.AllowLocations {
		root, err := openAllowed(c, location, buckets)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("allow-location: %w", err))
			continue
		}
		roots = append(roots, root)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, nil, err
	}
	ranges, err := openRanges(c, roots, buckets, budget, log)
	if err != nil {
		return nil, nil, err
	}
	for i := range roots {
		roots[i].Store = objectstore.Counting(tracedStore(c, roots[i])) // counts requests for the log
		if ranges != nil && isBucket(roots[i].URI) {
			roots[i].Store = ranges.Store(roots[i].Store, buckets.identity(roots[i].URI))
		}
	}
	opened, err := objectstore.NewRoots(roots...)
	return opened, ranges, err
}

// openRoot opens a bucket, or a directory, which it creates if it is missing.
func openRoot(c Config, place string, buckets *bucketOpener) (objectstore.Root, error) {
	if isBucket(place) {
		return buckets.open(place)
	}
	return openDirectory(c, place)
}

// openAllowed opens a bucket, or a directory, which must exist.
func openAllowed(c Config, place string, buckets *bucketOpener) (objectstore.Root, error) {
	if isBucket(place) {
		return buckets.open(place)
	}
	if info, err := os.Stat(place); err != nil {
		return objectstore.Root{}, err
	} else if !info.IsDir() {
		return objectstore.Root{}, fmt.Errorf("%s is not a directory", place)
	}
	return openDirectory(c, place)
}

// isBucket reports whether a place that parsePlace returned is a bucket.
func isBucket(place string) bool { return strings.HasPrefix(place, bucketScheme) }

// openDirectory opens the store over a directory. Its URI is absolute and free of links, because
// locations are compared as text and passed to other programs in this form.
func openDirectory(c Config, path string) (objectstore.Root, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return objectstore.Root{}, err
	}
	open := openStore
	if c.ReadOnly {
		open = openReadOnly
	}
	store, err := open(path)
	if err != nil {
		return objectstore.Root{}, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return objectstore.Root{}, errors.Join(err, store.Close())
	}
	uri := url.URL{Scheme: "file", Path: path}
	return objectstore.Root{URI: uri.String(), Store: objectstore.WatchWrites(store)}, nil
}

// bucketScheme is the prefix of the URL of a bucket.
const bucketScheme = "s3://"

// A bucketOpener opens stores in S3 with a shared client. It creates the client for the first
// bucket, so that a program without buckets does not pay for it.
type bucketOpener struct {
	clients Clients
	log     *slog.Logger
	client  *s3.Client
}

// open opens the store at a URL that parsePlace or parseCacheBucket has accepted.
func (b *bucketOpener) open(place string) (objectstore.Root, error) {
	u, err := url.Parse(place)
	if err != nil {
		return objectstore.Root{}, err
	}
	if b.client == nil {
		cfg, err := b.clients.AWS()
		if err != nil {
			return objectstore.Root{}, err
		}
		if b.client, err = s3store.NewClient(cfg); err != nil {
			return objectstore.Root{}, err
		}
	}
	store, err := s3store.New(b.client, u.Host, strings.Trim(u.Path, "/"), b.log)
	if err != nil {
		return objectstore.Root{}, err
	}
	return objectstore.Root{URI: place, Store: store}, nil
}
