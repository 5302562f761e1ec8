// Package claim prevents that the locations of tables overlap. It claims a place before a record
// refers to it, and releases the claim when the table is removed.
//
// Most tables are at a location that the catalog made for them and that no other table has had.
// Their records contain stored.OwnPlace, and no claim is needed. A location that a client chooses
// may equal the location of another table, or be inside or around it, and dropping one of the two
// would then delete data of the other. A table at such a location therefore has a claim, an object
// whose key spells out the place:
//
//	_places/$<component>/$<component>/=<uid>    {"place": …, "names": …, "state": …}
//
// One LIST finds the claims below a place, and one LIST per component finds those around it. A
// table claims its place in three writes:
//
//	1  put the claim in state "trying"; then list the claims that overlap
//	2  change the claim to state "held" (put-if-match)
//	3  put the record of the table, which names the claim; then check that the claim still exists
//
// If two tables claim places that overlap, at least one of them sees the claim of the other. A held
// claim wins. Of two claims in state "trying", the one whose key sorts first deletes the other,
// whose second write then fails; the other one waits until the first is decided. A claim is valid
// while a record names it, or while its maker may still put that record. The next caller that finds
// a claim left behind by a crash deletes it.
//
// Two names may have the same place if the second is registered there; each then has a claim. A
// table at a location that the catalog made gets a claim when a second name is registered there. To
// drop a table with a claim, the catalog marks the claim as "going", looks for other claims, and
// keeps the data that belongs to them.
package claim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
)

// Places finds and creates the claims of a deployment. It is safe for concurrent use.
type Places struct {
	store objects.Store // store of the home root, where the claims are
	roots *objectstore.Roots
	now   func() time.Time
	names names
	known atomic.Bool // see EnsureKnown
}

// names resolves the names in a claim: a claim is valid if the record of its table names it.
type names interface {
	// Settled returns the table of a name after unfinished changes are completed or undone.
	Settled(ctx context.Context, id []string) (stored.Found, error)
	// Forget removes a record that has changed from caches.
	Forget(id []string)
}

// New returns the claims in the home root.
func New(roots *objectstore.Roots, now func() time.Time, names names) *Places {
	return &Places{store: objects.Store{Store: roots.Home().Store}, roots: roots, now: now, names: names}
}

// A Claim is the stored form of a table's claim on a place.
type Claim struct {
	Place string     `json:"place"` // in the form that records use
	UID   string     `json:"uid"`
	Names [][]string `json:"names"` // ids that the table has, or gets when a rename under way completes
	State claimState `json:"state"`
	Until time.Time  `json:"until"`           // from then on, a claim without a record is abandoned
	Joins bool       `json:"joins,omitempty"` // the place may be shared with other tables

	replaces  bool // the table replaces the one of the same name
	key, etag string
}

// A claimState is the progress of a claim.
type claimState string

const (
	claimTrying claimState = "trying"
	claimHeld   claimState = "held"
	claimGoing  claimState = "going" // the data is being deleted
)

const (
	placesPrefix = "_places/"
	claimLease   = 30 * time.Second
	// GoingLease is how long a claim stays valid while the files of its place are being deleted. It is
	// longer than any request takes.
	GoingLease = 15 * time.Minute
)

// claimFolder returns the folder with the claims on a place, and the folders with the claims around
// it, outermost first. For a place outside of the home root they begin with its scheme and host.
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
		if part = keys.Escape(part); len(part) > keys.MaxFolder {
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

// ownName matches the folder names that [Places.New] makes. Other names with that ending may not even be locations.
var ownName = regexp.MustCompile(`^[0-9A-Za-z_.-]{0,80}-[0-9a-f]{24}\.lance$`)

// InsideOwn reports whether a place is inside a folder that the catalog made for a table.
func InsideOwn(place string) bool {
	first, _, below := strings.Cut(place, "/")
	return below && ownName.MatchString(first)
}

// IsOwn reports whether a place is a folder that the catalog made for a table.
func IsOwn(place string) bool { return !strings.Contains(place, "/") && ownName.MatchString(place) }

// claimFanOut bounds the LIST requests for claims in parallel.
const claimFanOut = 8
