package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/objectstore"
)

// Most tables lie at a place that was made for them and that no other table has had: their
// records say so (ownPlace), and nothing more is needed. A place that somebody names may be that of
// another table, or inside it, or around it, and then dropping the one would take the data of
// the other. So a table at such a place has a claim, an object whose key says the place:
//
//	_places/$<component>/$<component>/=<uid>    {"place": …, "names": …, "state": …}
//
// Claims below a place are one LIST away, and those around it one LIST for each component. To
// claim takes three writes:
//
//	1  put the claim, trying; then look for others that overlap
//	2  make it held (put-if-match)
//	3  put the record of the table, which names the claim; then look whether the claim is there
//
// Of two who claim places that overlap at least one sees the other. One that is held wins. Of
// two that try, the one whose key comes first deletes the other's claim, whose second write
// then fails; the other waits until it is decided. A claim is only worth something together with a
// record that names it, or while its maker may yet put that: one that a crash left behind is deleted by
// whoever meets it.
//
// Two names may share one place, when the second is registered there: each has a claim. A
// table whose place was made for it gets a claim as soon as it is shared. Whoever drops a table with a claim marks it as
// going, looks for others, and leaves them what is theirs.
type claim struct {
	Place string     `json:"place"` // as in records of tables
	UID   string     `json:"uid"`
	Names [][]string `json:"names"` // ids that the table has, or may have after a rename
	State claimState `json:"state"`
	Until time.Time  `json:"until"`           // when a claim without a record is left behind
	Joins bool       `json:"joins,omitempty"` // may share the place with others

	replaces  bool // its table takes the place of that of the same name
	key, etag string
}

type claimState string

const (
	claimTrying claimState = "trying"
	claimHeld   claimState = "held"
	claimGoing  claimState = "going" // the data is being deleted
)

const (
	placesPrefix = "_places/"
	claimLease   = 30 * time.Second
	goingLease   = 15 * time.Minute // longer than any request takes

	// ownPlace stands in a record for a claim that is not needed: the place was made for the table, and
	// nobody else has been registered there.
	ownPlace = "own"
)

// placeOf returns a location as it is in records: relative to the home root if it lies there.
func (c *Catalog) placeOf(at objectstore.Location) string {
	if c.isHome(at) {
		return at.Prefix
	}
	return at.URI
}

// Places returns locations as they are in records.
func (c *Catalog) Places(at []objectstore.Location) []string {
	var places []string
	for _, one := range at {
		places = append(places, c.placeOf(one))
	}
	return places
}

// claimFolder returns the folder of claims at a place, with the folders around it, outermost
// first. A location that is not in the home root begins with its scheme and host.
func claimFolder(place string) (folder string, around []string) {
	var parts []string
	if scheme, rest, ok := strings.Cut(place, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		parts = append(parts, scheme+"://"+host)
		parts = append(parts, strings.Split(path, "/")...)
	} else {
		parts = append([]string{"."}, strings.Split(place, "/")...)
	}
	folder = placesPrefix
	for _, part := range parts {
		around = append(around, folder)
		if part = escape(part); len(part) > maxFolderName {
			sum := sha256.Sum256([]byte(part))
			part = "$" + hex.EncodeToString(sum[:])
		}
		folder += "$" + part + "/"
	}
	return folder, around
}

func claimKey(place, uid string) string {
	folder, _ := claimFolder(place)
	return folder + "=" + uid
}

// ownName is how NewLocation names folders.
var ownName = regexp.MustCompile(`-[0-9a-f]{24}\.lance$`)

// insideOwn says whether a place is inside the folder that was made for a table, and isOwn
// whether it is such a folder.
func insideOwn(place string) bool {
	first, _, below := strings.Cut(place, "/")
	return below && ownName.MatchString(first)
}

func isOwn(place string) bool { return !strings.Contains(place, "/") && ownName.MatchString(place) }

// readClaim loads a claim; nil when there is none.
func (c *Catalog) readClaim(ctx context.Context, key string) (*claim, error) {
	found := new(claim)
	etag, err := c.read(ctx, key, found)
	if errors.Is(err, objectstore.ErrNotExist) {
		return nil, nil
	}
	found.key, found.etag = key, etag
	return found, err
}

// claimsAbout returns the claims at a place, inside it and around it.
func (c *Catalog) claimsAbout(ctx context.Context, place string) ([]*claim, error) {
	folder, around := claimFolder(place)
	prefixes := []string{folder}
	for _, outer := range around {
		prefixes = append(prefixes, outer+"=")
	}
	var mu sync.Mutex
	var found []*claim
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dropFanOut)
	for _, prefix := range prefixes {
		group.Go(func() error {
			keys, err := c.claimKeys(ctx, prefix)
			for _, key := range keys {
				one, err := c.readClaim(ctx, key)
				if err != nil {
					return err
				}
				if one != nil {
					mu.Lock()
					found = append(found, one)
					mu.Unlock()
				}
			}
			return err
		})
	}
	err := group.Wait()
	slices.SortFunc(found, func(a, b *claim) int { return strings.Compare(a.key, b.key) })
	return found, err
}

func (c *Catalog) claimKeys(ctx context.Context, prefix string) (keys []string, err error) {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPageSize}
	for {
		page, err := c.store.List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list claims of places: %w", err)
		}
		for _, object := range page.Objects {
			keys, opts.StartAfter = append(keys, object.Key), object.Key
		}
		if !page.More || len(page.Objects) == 0 {
			return keys, nil
		}
	}
}

// owner returns the record of the table that a claim is of. It is nil when there is none; wait
// says that there may be one soon.
func (c *Catalog) owner(ctx context.Context, one *claim) (record *tableRecord, wait bool, err error) {
	for _, id := range one.Names {
		record, _, err := c.settled(ctx, id)
		switch {
		case err == nil && record.Claim == one.UID:
			return record, false, nil
		case errors.Is(err, errArriving):
			wait = true
		case err != nil && !errors.Is(err, objectstore.ErrNotExist):
			return nil, false, err
		}
	}
	return nil, wait || c.now().Before(one.Until), nil
}

// release deletes a claim. What it fails at is left behind, and deleted by whoever meets it.
func (c *Catalog) release(ctx context.Context, one *claim) {
	_ = c.store.Delete(context.WithoutCancel(ctx), one.key, objectstore.Condition{IfMatch: one.etag})
}

// releaseOf deletes the claim of a record that stands for no table any more, while its data
// stays. Of a place that was made for the table it notes that its owner is gone; where a crash
// prevents the note, the next registration there looks through all records.
func (c *Catalog) releaseOf(ctx context.Context, record *tableRecord) {
	if record == nil {
		return
	}
	if record.Claim == ownPlace {
		_, _ = c.store.Put(context.WithoutCancel(ctx), ownerlessKey(record.Location), nil, objectstore.Condition{})
	}
	if !record.hasClaim() {
		return
	}
	if one, err := c.readClaim(context.WithoutCancel(ctx), claimKey(record.Location, record.Claim)); err == nil && one != nil {
		c.release(ctx, one)
	}
}

// ownerlessKey is where a note says that the table is gone that a place was made for. The note
// stays true: no place is made twice, and every later table there has a claim.
func ownerlessKey(place string) string { return placesPrefix + "ownerless/" + place }

// ownerless reports whether the table that a place was made for is known to be gone.
func (c *Catalog) ownerless(ctx context.Context, place string) (bool, error) {
	_, _, err := c.store.GetRanges(ctx, ownerlessKey(place))
	if errors.Is(err, objectstore.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the owner of a place: %w", err)
	}
	return true, nil
}

// hasClaim says whether there is a claim of the record's place.
func (r *tableRecord) hasClaim() bool { return r.Claim != "" && r.Claim != ownPlace }

// nameClaim lets the claim of a table tell another name that it is about to get: the claim
// has to lead to the table whatever becomes of the rename.
func (c *Catalog) nameClaim(ctx context.Context, record *tableRecord, to []string) error {
	if !record.hasClaim() {
		return nil
	}
	for range createAttempts {
		one, err := c.readClaim(ctx, claimKey(record.Location, record.Claim))
		if err != nil || one == nil {
			return err
		}
		if slices.ContainsFunc(one.Names, func(id []string) bool { return slices.Equal(id, to) }) {
			return nil
		}
		one.Names = append(one.Names, to)
		if _, err = c.write(ctx, one.key, one, objectstore.Condition{IfMatch: one.etag}); !gone(err) {
			return err
		}
	}
	return lostRace("table", record.ID, objectstore.ErrPrecondition)
}
