// Package refs stores the named versions of a table: tags and branches. It reads, lists and writes
// the records; packages tags and branches act on them.
package refs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/storage/objectstore"
)

// Tags and branches are JSON objects at the main table's location:
//
//	_refs/tags/<name>.json
//	_refs/branches/<name>.json      slashes and non-ASCII characters of a name are percent-encoded
//	tree/<branch>/                  the branch's own files, laid out as a table
//
// Source: crate lance, src/dataset/refs.rs.

// ErrNoTag reports that a table has no tag of a name.
var ErrNoTag = errors.New("no such tag")

// ErrNoBranch reports that a table has no branch of a name.
var ErrNoBranch = errors.New("no such branch")

// ErrExists reports that the name of a new tag or branch is taken.
var ErrExists = errors.New("there is such a tag or branch already")

// ErrName reports a malformed name of a tag or branch.
var ErrName = errors.New("not a name of a tag or branch")

// ErrInUse reports that a branch cannot be deleted because tags or other branches depend on it.
var ErrInUse = errors.New("the branch is still referred to")

// A NameError adds the name of a tag or branch to an error.
type NameError struct {
	Err  error  // ErrNoTag or ErrExists
	What string // "tag" or "branch"
	Name string
	URI  string // URI of the table
}

// Error returns the text of the error.
func (e *NameError) Error() string {
	return fmt.Sprintf("%v: %s %s of %s", e.Err, e.What, e.Name, e.URI)
}

// Unwrap returns ErrNoTag or ErrExists.
func (e *NameError) Unwrap() error { return e.Err }

// Main is the reserved name of the main table.
const Main = "main"

// TreeDir is the folder with one directory per branch.
const TreeDir = "tree/"

// A Place is the location of a table's tags and branches.
type Place struct {
	Store  objectstore.Store
	Prefix string // key prefix of the table, without a trailing slash
	URI    string
	Cache  *cache.Cache
	Now    func() time.Time
}

const (
	tagsDir     = "_refs/tags/"
	branchesDir = "_refs/branches/"
	refSuffix   = ".json"
	maxRefBytes = 1 << 20
	maxRefName  = 250 // bytes of an object name; most file systems allow 255
)

// CheckTag returns ErrName for an invalid tag name. Letters, digits, dots, dashes and underscores
// are allowed; no dot at either end, no two dots in a row, no ".lock" at the end.
func CheckTag(name string) error {
	if why := segmentFault(name); why != "" {
		return fmt.Errorf("%w: tag %.80q %s", ErrName, name, why)
	}
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
		return fmt.Errorf("%w: tag %.80q begins or ends with a dot", ErrName, name)
	}
	return checkLength(name)
}

// CheckBranch returns ErrName for an invalid branch name: segments like tag names, separated by
// slashes. Main is not allowed.
func CheckBranch(name string) error {
	if name == Main {
		return fmt.Errorf("%w: branch %q is the table itself", ErrName, name)
	}
	for segment := range strings.SplitSeq(name, "/") {
		if why := segmentFault(segment); why != "" {
			return fmt.Errorf("%w: branch %.80q: a segment %s", ErrName, name, why)
		}
	}
	return checkLength(name)
}

// checkLength bounds the object name after percent-encoding.
func checkLength(name string) error {
	if len(refKey("", name)) > maxRefName {
		return fmt.Errorf("%w: %.40q… is too long", ErrName, name)
	}
	return nil
}

// segmentFault returns the reason why a string is not a name segment, or "".
func segmentFault(segment string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(".-_", r)
	}
	switch {
	case segment == "":
		return "is empty"
	case segment == "." || strings.Contains(segment, ".."):
		return "is a path, or has two dots in a row"
	case strings.HasSuffix(segment, ".lock"):
		return `ends with ".lock"`
	case strings.ContainsFunc(segment, odd):
		return "holds what is no letter, digit, dot, dash or underscore"
	}
	return ""
}

// IsMain reports whether a branch name means the main table.
func IsMain(branch string) bool { return branch == "" || branch == Main }

func refKey(dir, name string) string { return dir + url.PathEscape(name) + refSuffix }

// refName parses the name from an object's key in a directory. ok is false for a key that no name
// has.
func refName(key string) (string, bool) {
	escaped, ok := strings.CutSuffix(key, refSuffix)
	name, err := url.PathUnescape(escaped)
	return name, ok && err == nil
}

// readRef decodes the object of a tag or branch into what.
func (p Place) readRef(ctx context.Context, key string, what any) (objectstore.Info, error) {
	data, info, err := p.Store.GetRanges(ctx, p.Prefix+"/"+key, objectstore.Range{Offset: -maxRefBytes})
	if errors.Is(err, objectstore.ErrNotExist) {
		return info, fmt.Errorf("%w: %s of %s", ErrNoTag, key, p.URI)
	}
	if err != nil {
		return info, fmt.Errorf("read %s of %s: %w", key, p.URI, err)
	}
	if err := json.Unmarshal(data[0], what); err != nil {
		return info, fmt.Errorf("%w: %s of %s: %w", lance.ErrCorrupt, key, p.URI, err)
	}
	return info, nil
}

// writeRef writes the object of a tag or branch.
func (p Place) writeRef(ctx context.Context, key string, what any, cond objectstore.Condition) error {
	data, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	if _, err := p.Store.Put(ctx, p.Prefix+"/"+key, data, cond); err != nil {
		return fmt.Errorf("write %s of %s: %w", key, p.URI, err)
	}
	return nil
}

// quietRef is the least age of an object whose ETag identifies its content. In a local directory
// the ETag holds a write time with the resolution of the kernel's tick.
const quietRef = time.Second

// maxConcurrentReads bounds the tags and branches that are read in parallel.
const maxConcurrentReads = 32

// listRefs returns at most limit tags or branches of a directory after a name (0 or less: all), in
// key order. It reads them in parallel and takes those with an unchanged ETag from the cache. next
// is the last name if more follow.
func listRefs[T any](ctx context.Context, p Place, dir, after string, limit int, read func(ctx context.Context, name string) (T, objectstore.Info, error)) (refs map[string]T, next string, err error) {
	listed, next, err := listNames(ctx, p, dir, after, limit)
	if err != nil {
		return nil, "", err
	}
	refs = make(map[string]T, len(listed))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReads)
	for _, one := range listed {
		name := one.name
		object := p.URI + "/" + strings.TrimSuffix(strings.TrimPrefix(one.object.Key, p.Prefix+"/"), refSuffix)
		if ref, ok := cache.Get[T](p.Cache, object, refPart(one.object)); ok {
			mu.Lock()
			refs[name] = ref
			mu.Unlock()
			continue
		}
		group.Go(func() error {
			ref, info, err := read(ctx, name)
			if errors.Is(err, ErrNoTag) || errors.Is(err, ErrNoBranch) || errors.Is(err, ErrName) {
				return nil // deleted since it was listed, or an invalid name
			}
			if err != nil {
				return err
			}
			if p.Now().Sub(info.Modified) > quietRef {
				cache.Put(p.Cache, object, refPart(info), ref, refMemory*info.Size)
			}
			mu.Lock()
			defer mu.Unlock()
			refs[name] = ref
			return nil
		})
	}
	return refs, next, group.Wait()
}

// A listedRef is a tag or branch in a listing.
type listedRef struct {
	name   string
	object objectstore.Info
}

// listNames lists a directory of tags or branches like listRefs, without reading them.
func listNames(ctx context.Context, p Place, dir, after string, limit int) (listed []listedRef, next string, err error) {
	opts := objectstore.ListOptions{Prefix: p.Prefix + "/" + dir, Limit: max(limit, 0)}
	if after != "" {
		opts.StartAfter = p.Prefix + "/" + refKey(dir, after)
	}
	page, err := p.Store.List(ctx, opts)
	if err != nil {
		return nil, "", fmt.Errorf("list %s of %s: %w", dir, p.URI, err)
	}
	for _, object := range page.Objects {
		name, ok := refName(object.Key[len(opts.Prefix):])
		if !ok {
			continue
		}
		if page.More {
			next = name
		}
		listed = append(listed, listedRef{name, object})
	}
	return listed, next, nil
}

// refMemory is the approximate ratio of a decoded record's memory to its JSON bytes.
const refMemory = 4

// refPart is the cache key of a record's content.
func refPart(object objectstore.Info) string { return "ref " + object.ETag }
