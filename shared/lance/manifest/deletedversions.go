package manifest

import (
	"context"
	"fmt"
	"path"
	"time"

	"tiltyard/shared/objectstore"
)

// To put a manifest where there is none makes the next version, if there is none because
// nobody has made that version yet. It does not where one was made and deleted since: then
// there are later versions already, nothing of the new one is in them, and its writer must not
// be told that it was made. No request to a store can tell the two apart. So writers and those
// who delete versions keep to a time, which each of them measures by himself:
//
//   - A writer knows from a listing which version is the newest, and has the answer to his put
//     before FreshFor has passed since he asked for the listing; else he looks again ([InHole]).
//   - A version is deleted no earlier than FreshFor after whoever deletes it has seen it.
//
// A version that was not there when the writer listed is seen later than that, and is there
// when he puts. A put whose writer has given up may yet be carried out where a version was
// deleted: under that number something is there again, which nobody was told of and the
// newest version has nothing of. Other writers of the format do not know of this. They leave
// versions alone for days, unless they are told to do otherwise.

// FreshFor is how long what a listing said of the newest version is good for.
const FreshFor = 4 * time.Second

// InHole says whether a version of a table is in the place of one that was deleted: it was put
// after a later one. Where the clock of the store does not tell, the error is
// [objectstore.ErrUnknownOutcome].
func InHole(ctx context.Context, store objectstore.Store, table string, version uint64, key string) (bool, error) {
	var later []objectstore.Info
	opts := objectstore.ListOptions{Prefix: within(table, VersionsDir+"/"), Limit: otherPages}
	for {
		page, err := store.List(ctx, opts)
		if err != nil {
			return false, fmt.Errorf("%w: list versions of %s: %w", objectstore.ErrUnknownOutcome, table, err)
		}
		for _, info := range page.Objects {
			opts.StartAfter = info.Key
			number, scheme, ok := ParseName(path.Base(info.Key))
			switch {
			case info.Key == key:
				return isOlder(later, info.Modified)
			case ok && scheme != Detached && number > version:
				later = append(later, info)
			}
		}
		if !page.More || len(page.Objects) == 0 {
			return false, fmt.Errorf("%w: version %d of %s is not there", objectstore.ErrUnknownOutcome, version, table)
		}
	}
}

// isOlder says whether any of some objects is older than a time.
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
