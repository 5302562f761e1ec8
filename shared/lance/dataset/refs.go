package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/objectstore"
)

// Tags and branches are JSON objects of a table's main place:
//
//	_refs/tags/<name>.json
//	_refs/branches/<name>.json      of the names, percent-encoded where not ASCII or a slash
//	tree/<branch>/                  what a branch has of its own, laid out as a table
//
// Source: crate lance, src/dataset/refs.rs.

// ErrNoRef says that a table has no tag of a name.
var ErrNoRef = errors.New("no such tag")

// ErrNoBranch says that a table has no branch of a name.
var ErrNoBranch = errors.New("no such branch")

// ErrRefExists says that a table has a tag or branch of this name already.
var ErrRefExists = errors.New("there is such a tag or branch already")

// ErrRefName says that a name is not one that a tag or branch may have.
var ErrRefName = errors.New("not a name of a tag or branch")

// ErrRefInUse says that a branch cannot be deleted, as tags or other branches need it.
var ErrRefInUse = errors.New("the branch is still referred to")

// MainBranch names what is no branch: the table itself.
const MainBranch = "main"

const (
	tagsDir     = "_refs/tags/"
	branchesDir = "_refs/branches/"
	treeDir     = "tree/"
	refSuffix   = ".json"
	maxRefBytes = 1 << 20
	maxRefName  = 250 // of an object, in the directories of most file systems
)

// CheckTag returns ErrRefName for what may not be the name of a tag: letters, digits,
// dots, dashes and underscores; no dot at either end, no two in a row, not ".lock" at the end.
func CheckTag(name string) error {
	if why := segmentFault(name); why != "" {
		return fmt.Errorf("%w: tag %.80q %s", ErrRefName, name, why)
	}
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
		return fmt.Errorf("%w: tag %.80q begins or ends with a dot", ErrRefName, name)
	}
	return checkLength(name)
}

// CheckBranch returns ErrRefName for what may not be the name of a branch: segments as
// those of tags between slashes, and not MainBranch.
func CheckBranch(name string) error {
	if name == MainBranch {
		return fmt.Errorf("%w: branch %q is the table itself", ErrRefName, name)
	}
	for segment := range strings.SplitSeq(name, "/") {
		if why := segmentFault(segment); why != "" {
			return fmt.Errorf("%w: branch %.80q: a segment %s", ErrRefName, name, why)
		}
	}
	return checkLength(name)
}

func checkLength(name string) error {
	if len(refKey("", name)) > maxRefName {
		return fmt.Errorf("%w: %.40q… is too long", ErrRefName, name)
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
func IsMain(branch string) bool { return branch == "" || branch == MainBranch }

// branchPlace returns the place of a branch: a table of its own, that shares files with
// the one it was made from. What is cached of it is that of one incarnation: a branch that
// was deleted may be made again, other than it was.
func (t *Table) branchPlace(name string, info BranchInfo) *Table {
	at := t.home.Location
	at.Prefix += "/" + treeDir + name
	at.URI += "/" + treeDir
	for i, segment := range strings.Split(name, "/") {
		if i > 0 {
			at.URI += "/"
		}
		at.URI += url.PathEscape(segment)
	}
	place := t.session.Table(at, 0)
	place.cached += "?" + info.incarnation()
	return place
}

func refKey(dir, name string) string { return dir + url.PathEscape(name) + refSuffix }

// readRef reads the object of a tag or branch into what.
func (t *Table) readRef(ctx context.Context, key string, what any) (objectstore.Info, error) {
	data, info, err := t.store.GetRanges(ctx, t.prefix+"/"+key, objectstore.Range{Offset: -maxRefBytes})
	if errors.Is(err, objectstore.ErrNotExist) {
		return info, fmt.Errorf("%w: %s of %s", ErrNoRef, key, t.uri)
	}
	if err != nil {
		return info, fmt.Errorf("read %s of %s: %w", key, t.uri, err)
	}
	if err := json.Unmarshal(data[0], what); err != nil {
		return info, fmt.Errorf("%w: %s of %s: %w", lance.ErrCorrupt, key, t.uri, err)
	}
	return info, nil
}

// writeRef writes the object of a tag or branch.
func (t *Table) writeRef(ctx context.Context, key string, what any, cond objectstore.Condition) error {
	data, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	if _, err := t.store.Put(ctx, t.prefix+"/"+key, data, cond); err != nil {
		return fmt.Errorf("write %s of %s: %w", key, t.uri, err)
	}
	return nil
}

// listRefs calls read for the names in a directory of tags or branches that come after
// one, at most limit of them (0 or less: all), side by side. Their order is that of the
// keys. It returns the last name, if more come after it.
func (t *Table) listRefs(ctx context.Context, dir, after string, limit int, read func(ctx context.Context, name string) error) (next string, err error) {
	opts := objectstore.ListOptions{Prefix: t.prefix + "/" + dir, Limit: max(limit, 0)}
	if after != "" {
		opts.StartAfter = t.prefix + "/" + refKey(dir, after)
	}
	page, err := t.store.List(ctx, opts)
	if err != nil {
		return "", fmt.Errorf("list %s of %s: %w", dir, t.uri, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReads)
	for _, info := range page.Objects {
		escaped, ok := strings.CutSuffix(info.Key[len(opts.Prefix):], refSuffix)
		name, err := url.PathUnescape(escaped)
		if !ok || err != nil {
			continue
		}
		if page.More {
			next = name
		}
		group.Go(func() error {
			err := read(ctx, name)
			if errors.Is(err, ErrNoRef) || errors.Is(err, ErrNoBranch) || errors.Is(err, ErrRefName) {
				return nil // deleted meanwhile, or nobody's
			}
			return err
		})
	}
	return next, group.Wait()
}
