package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/rangecache"
)

// Ranges configures the cache of ranges of files between the buckets and the cache in memory.
type Ranges struct {
	Disk      string // a folder; empty: none
	DiskBytes int64
	Bucket    string // an s3:// URL; empty: none
}

// openRanges opens the cache of ranges, or returns nil if none is configured. Files of directories are near
// already.
func openRanges(c Config, roots []objectstore.Root, buckets *bucketOpener, budget *memory.Budget, log *slog.Logger) (*rangecache.Cache, error) {
	if c.Ranges.Disk == "" && c.Ranges.Bucket == "" {
		return nil, nil
	}
	if !slices.ContainsFunc(roots, func(r objectstore.Root) bool { return isBucket(r.URI) }) {
		return nil, errors.New("cache-disk and cache-bucket are for roots in buckets, and all roots are directories")
	}
	options := rangecache.Options{Immutable: lance.IsImmutable, Memory: budget, Now: time.Now, Logger: log}
	if c.Ranges.Disk != "" {
		path, err := filepath.Abs(c.Ranges.Disk)
		if err == nil {
			options.Disk, err = rangecache.OpenDisk(path, c.Ranges.DiskBytes, time.Now)
		}
		if err != nil {
			return nil, fmt.Errorf("cache-disk: %w", err)
		}
	}
	if c.Ranges.Bucket != "" {
		bucket, err := openCacheBucket(c.Ranges.Bucket, roots, buckets)
		if err != nil {
			return nil, fmt.Errorf("cache-bucket: %w", err)
		}
		options.Bucket = bucket
	}
	return rangecache.New(options), nil
}

// openCacheBucket opens the bucket of the cache, which must be apart from the roots. Its failures are reported by
// the cache, not by each request.
func openCacheBucket(place string, roots []objectstore.Root, buckets *bucketOpener) (objectstore.Store, error) {
	place = strings.TrimSuffix(place, "/")
	for _, root := range roots {
		if uri := strings.TrimSuffix(root.URI, "/"); objectstore.Holds(uri, place) || objectstore.Holds(place, uri) {
			return nil, fmt.Errorf("%s and the root %s lie within each other; take another bucket or another prefix", objectstore.URI(place), objectstore.URI(uri))
		}
	}
	quiet := *buckets
	quiet.log = slog.New(slog.DiscardHandler)
	opened, err := quiet.open(place)
	if err != nil {
		return nil, err
	}
	return objectstore.Counting(opened.Store), nil
}

// identity names the objects of a root among those of all servers and roots.
func (b *bucketOpener) identity(uri string) string {
	return aws.ToString(b.client.Options().BaseEndpoint) + " " + strings.TrimSuffix(uri, "/")
}

// leastDiskBytes is room for the largest entries.
const leastDiskBytes = 16 << 20

func parseDiskBytes(text string) (int64, error) {
	bytes, err := parseBytes(text)
	if err == nil && bytes < leastDiskBytes {
		err = errors.New("must be at least 16MiB")
	}
	return bytes, err
}

// parseCacheBucket accepts any bucket, because the cache needs no listings.
func parseCacheBucket(text string) (string, error) {
	_, err := parseAnyBucket(text)
	return text, err
}
