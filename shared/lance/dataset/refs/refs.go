// Package refs keeps the names that a table has for its versions: tags and branches. It reads, lists and
// writes what is stored under a name, and does not open what the name is for.
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
	"tiltyard/shared/lance/dataset/cache"
	"tiltyard/shared/objectstore"
)

// Tags and branches are JSON objects of a table's main place:
//
//	_refs/tags/<name>.json
//	_refs/branches/<name>.json      of the names, percent-encoded where not ASCII or a slash
//	tree/<branch>/                  what a branch has of its own, laid out as a table
//
// Source: crate lance, src/dataset/refs.rs.

// ErrNoTag says that a table has no tag of a name.
var ErrNoTag = errors.New("no such tag")

// ErrNoBranch says that a table has no branch of a name.
var ErrNoBranch = errors.New("no such branch")

// ErrExists says that a table has a tag or branch of this name already.
var ErrExists = errors.New("there is such a tag or branch already")

// ErrName says that a name is not one that a tag or branch may have.
var ErrName = errors.New("not a name of a tag or branch")

// ErrInUse says that a branch cannot be deleted, as tags or other branches need it.
var ErrInUse = errors.New("the branch is still referred to")

// A NameError is about the tag or the branch of a name.
type NameError struct {
	Err  error  // ErrNoTag or ErrExists
	What string // "tag" or "branch"
	Name string
	URI  string // of the table
}

// Error returns the text of the error.
func (e *NameError) Error() string {
	return fmt.Sprintf("%v: %s %s of %s", e.Err, e.What, e.Name, e.URI)
}

// Unwrap returns ErrNoTag or ErrExists.
func (e *NameError) Unwrap() error { return e.Err }

// Main names what is no branch: the table itself.
const Main = "main"

// TreeDir has a directory for each branch.
const TreeDir = "tree/"

// A Place holds the tags and branches of a table, by their names.
type Place struct {
	Store  objectstore.Store
	Prefix string // of all keys of the table, without a slash at its end
	URI    string
	Cache  *cache.Cache
	Now    func() time.Time
}

const (
	tagsDir     = "_refs/tags/"
	branchesDir = "_refs/branches/"
	refSuffix   = ".json"
	maxRefBytes = 1 << 20
	maxRefName  = 250 // of an object, in the directories of most file systems
)

// CheckTag returns ErrName for what may not be the name of a tag: letters, digits,
// dots, dashes and underscores; no dot at either end, no two in a row, not ".lock" at the end.
func CheckTag(name string) error {
	if why := segmentFault(name); why != "" {
		return fmt.Errorf("%w: tag %.80q %s", ErrName, name, why)
	}
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
		return fmt.Errorf("%w: tag %.80q begins or ends with a dot", ErrName, name)
	}
	return checkLength(name)
}

// CheckBranch returns ErrName for what may not be the name of a branch: segments as
// those of tags between slashes, and not Main.
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

func checkLength(name string) error {
	if len(refKey("", name)) > maxRefName {
		return fmt.Errorf("%w: %.40q… is too long", ErrName, name)
	}
	return nil
}

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

// IsMain says whether a name is that of no branch, but of the table itself.
func IsMain(branch string) bool { return branch == "" || branch == Main }

func refKey(dir, name string) string { return dir + url.PathEscape(name) + refSuffix }

// refName returns the name whose object has a key in a directory; false if no name has it.
func refName(key string) (string, bool) {
	escaped, ok := strings.CutSuffix(key, refSuffix)
	name, err := url.PathUnescape(escaped)
	return name, ok && err == nil
}

// readRef reads the object of a tag or branch into what.
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

// quietRef is how old an object must be to be kept by its ETag: on a directory, that holds
// the time of a write only as finely as the kernel's tick.
const quietRef = time.Second

// maxConcurrentReads bounds the tags and branches that are read side by side.
const maxConcurrentReads = 32

// listRefs reads the tags or branches of a directory that come after a name, at most limit
// of them (0 or less: all), side by side; those that the cache holds as they are listed are
// not read again. Their order is that of the keys. It returns the last name, if more come
// after it.
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
				return nil // deleted since it was listed, or no name that a tag or branch may have
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

// A listedRef is the object of a tag or branch as it was listed.
type listedRef struct {
	name   string
	object objectstore.Info
}

// listNames lists a directory of tags or branches as listRefs does, without reading them.
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

// refMemory is about how many times its bytes as JSON a tag or branch takes when decoded.
const refMemory = 4

// refPart names the content of a tag or branch in the cache.
func refPart(object objectstore.Info) string { return "ref " + object.ETag }
