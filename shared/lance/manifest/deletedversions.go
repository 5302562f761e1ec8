package manifest

import (
	"context"
	"fmt"
	"path"
	"time"

	"tiltyard/shared/objectstore"
)

// A writer commits by putting a manifest on condition that it does not exist. That is a new
// version only if the number has never been used. If a version with that number was made
// and then deleted, later versions exist that do not contain the writer's change, and the
// writer must not report success. A store cannot distinguish the two cases. Writers and
// deleters therefore keep to a time, which each measures by its own clock:
//
//   - A writer learns the newest version from a listing, and must have the answer to its put within FreshFor of the start of that listing. Otherwise it checks again ([InHole]).
//   - A process deletes a version no earlier than FreshFor after it has first seen it.
//
// So if a version did not exist in a writer's listing, it is not deleted before the
// writer's put has an answer. One case remains: a store may carry out the put of a writer
// that has given up, at a number whose version has been deleted. A manifest then exists
// under that number that no client was told of and that the newest version does not
// contain. Native writers do not follow this rule, but by default they delete versions only
// after days.

// Readers use the answer of a listing for longer, and ask only for the version after the newest one that they
// know, and whether that one is still the same. For their sake a process deletes versions that were made a
// short time ago ([Recent]) one after the other, the oldest first. So when the version after the one that a
// reader knows is gone, that one is gone, too, although the deletion may have broken off half way. What a tag
// or a branch keeps is an exception: a reader may take it for the newest until its listing is too old.

// ReadFor is the time for which a reader uses the answer of a listing.
const ReadFor = time.Minute

// Recent reports whether a reader may know the version before one that was modified at a time as the newest.
// The clocks of processes may be a minute apart.
func Recent(modified, now time.Time) bool { return now.Sub(modified) < ReadFor+time.Minute }

// FreshFor is the time for which a listing's answer about the newest version may be used.
const FreshFor = 4 * time.Second

// InHole reports whether a version takes the place of a deleted one: whether it was put
// after a later version. If the store's clock cannot decide, the error is
// [objectstore.ErrUnknownOutcome].
func InHole(ctx context.Context, store objectstore.Store, table string, version uint64, key string) (bool, error) {
	var later []objectstore.Info
	opts := objectstore.ListOptions{Prefix: within(table, VersionsDir+"/"), Limit: otherPages}
	for info, err := range objectstore.Objects(ctx, store, opts) {
		if err != nil {
			return false, fmt.Errorf("%w: list versions of %s: %w", objectstore.ErrUnknownOutcome, table, err)
		}
		number, scheme, ok := ParseName(path.Base(info.Key))
		switch {
		case info.Key == key:
			return isOlder(later, info.Modified)
		case ok && scheme != Detached && number > version:
			later = append(later, info)
		}
	}
	return false, fmt.Errorf("%w: version %d of %s is not there", objectstore.ErrUnknownOutcome, version, table)
}

// isOlder reports whether any of some objects was modified before a time.
func isOlder(objects []objectstore.Info, than time.Time) (bool, error) {
	same := false
	for _, info := range objects {
		if info.Modified.Before(than) {
			return true, nil
		}
		same = same || info.Modified.Equal(than)
	}
	if same {
		return false, fmt.Errorf("%w: versions were made at the same time", objectstore.ErrUnknownOutcome)
	}
	return false, nil
}
