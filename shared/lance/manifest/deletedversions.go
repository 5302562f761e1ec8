package manifest

import (
	"context"
	"fmt"
	"path"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// A writer commits by putting a manifest on condition that it does not exist. That creates a new
// version only if the number has never been used. If a version with that number was made and then
// deleted, later versions exist that do not contain the writer's change, and the writer must not
// report success. A store cannot distinguish the two cases. Writers and deleters therefore keep to
// times, which each measures by its own clock:
//
//   - A writer learns the newest version from a listing, and must have the answer to its put
//     within FreshFor of the start of that listing. Otherwise it checks again ([InHole]).
//   - A process deletes a version no earlier than FreshFor after it has first seen it.
//
// So a version that did not exist in a writer's listing is not deleted before the writer's put has
// an answer. For example, at 12:00:00 a writer lists version 7 and puts version 8, which by then
// was made by another writer: the other version cannot be deleted before 12:00:04, so the put fails
// as it should.
//
// One case remains: a store may carry out the put of a writer that has given up, at a number whose
// version has been deleted. That manifest is unknown to every client, and the newest version does
// not contain it. Native writers do not follow this rule, but by default they delete versions only
// after days.

// Readers trust a listing for longer. In between they only request the version after their newest
// one, and check that their own is unchanged. A process therefore deletes recent versions
// ([Recent]) one after the other, oldest first: if version N+1 is gone, a reader finds N gone as
// well, even if the deletion was interrupted. Versions with tags or branches are an exception: a
// reader may take one for the newest until its listing is too old.

// ReadFor is how long a reader trusts a listing.
const ReadFor = time.Minute

// Recent reports whether a reader may still take the predecessor of a version, modified at the
// given time, for the newest. Clocks may differ by a minute.
func Recent(modified, now time.Time) bool { return now.Sub(modified) < ReadFor+time.Minute }

// FreshFor is how long a writer trusts a listing of the newest version.
const FreshFor = 4 * time.Second

// InHole reports whether a version fills the number of a deleted one, that is, whether it was put
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
