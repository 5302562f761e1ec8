// Package difference compares two versions of a table by rows. It finds deleted rows, new rows, and
// rows with other values in some columns. Rows are identified by stable row ids ([Of]) or, in
// tables without them, by address ([ByAddress]).
//
// A comparison reads manifests, row ids, row versions and deletion files, and no values. It looks
// at the two states, not at the operations between them, so it works in both directions of time and
// across restores, overwrites and unknown operations. Let W and S be the versions, and live(V) the
// rows of V without its deleted rows:
//
//	gone    = live(W) − live(S)
//	fresh   = live(S) − live(W)
//	kept    = rows live in both, at the same place of a fragment whose files of the columns are the same
//	moved   = rows live in both that were last changed by the same version
//	changed = (live(W) ∩ live(S)) − kept − moved
//
// The versions that last changed rows count only if every operation between W and S recorded its
// changes (trust.go). Otherwise moved rows count as changed, which costs work but is never wrong.
//
// For example, let W have rows with ids 1 2 3 in fragment 0. A writer deletes row 2, updates row 3
// (which moves it to fragment 1) and appends row 4. Then gone = {2}, fresh = {4}, kept = {1} and
// changed = {3}. By addresses, row 3 would be gone at its old address and fresh at its new one.
//
// The other half of the package serves views, whose rows store the ids of their source rows: [Find]
// finds the rows of a view by those ids, and [Places] finds the addresses of rows by their own ids.
package difference

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/snapshot"
)

// ErrNotComparable reports that two versions cannot be compared by rows: one of them has no stable
// row ids, two rows share an id, or the sets of ids would exceed 256 MiB. A derived table must then
// be rebuilt instead of updated.
var ErrNotComparable = errors.New("the versions cannot be compared by rows")

// Rows holds the rows that differ between two versions, by stable id or address. The sets are
// disjoint and belong to the caller.
type Rows struct {
	Gone    *roaring64.Bitmap // live in the first version only
	Fresh   *roaring64.Bitmap // live in the second version only
	Changed *roaring64.Bitmap // live in both, possibly with other values

	account *account
}

// Release returns the memory of the sets to the budget of the context that they were created with.
// A nil receiver is allowed.
func (r *Rows) Release() {
	if r != nil {
		r.account.held.Release()
	}
}

// Digest returns a hash of the sets. Equal sets have equal digests.
func (r *Rows) Digest() string {
	sum := sha256.New()
	ids := make([]uint64, 1024)
	runs := make([]byte, 0, 16*len(ids))
	for _, set := range []*roaring64.Bitmap{r.Gone, r.Fresh, r.Changed} {
		first, next := uint64(0), uint64(0) // the current run of consecutive ids
		for all := set.ManyIterator(); ; {
			n := all.NextMany(ids)
			runs = runs[:0]
			for _, id := range ids[:n] {
				if id != next || first == next {
					runs = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(runs, first), next)
					first = id
				}
				next = id + 1
			}
			sum.Write(runs)
			if n == 0 {
				break
			}
		}
		sum.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, first), next))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// IsEmpty reports whether the versions have the same rows.
func (r *Rows) IsEmpty() bool {
	return r.Gone.IsEmpty() && r.Fresh.IsEmpty() && r.Changed.IsEmpty()
}

// Of compares two versions of a table. fields lists the compared columns by field id; nested fields
// are included. If one version lacks a field or has it with another type, all rows count as
// changed. commits returns the transactions between the versions; nil means unknown. The error is
// [ErrNotComparable] or a read error.
func Of(ctx context.Context, was, now *snapshot.Snapshot, fields []int32, commits Commits) (*Rows, error) {
	return of(ctx, was, now, fields, commits, maxBytes)
}

// of compares with a bound on the memory of the id sets, which tests lower.
func of(ctx context.Context, was, now *snapshot.Snapshot, fields []int32, commits Commits, limit int64) (*Rows, error) {
	for _, s := range []*snapshot.Snapshot{was, now} {
		if !s.Manifest().StableRowIDs() {
			return nil, fmt.Errorf("%w: version %d has no stable row ids", ErrNotComparable, s.Version())
		}
	}
	return compare(ctx, was, now, fields, commits, &account{limit: limit, of: stableIDs})
}

// ByAddress compares two versions without stable row ids by row address, like [Of].
func ByAddress(ctx context.Context, was, now *snapshot.Snapshot, fields []int32) (*Rows, error) {
	for _, s := range []*snapshot.Snapshot{was, now} {
		if s.Manifest().StableRowIDs() {
			return nil, fmt.Errorf("%w: version %d has stable row ids", ErrNotComparable, s.Version())
		}
	}
	return compare(ctx, was, now, fields, nil, &account{limit: maxBytes, of: addresses})
}

// compare finds the fragments that differ and compares their rows. On failure it releases the
// memory of all sets.
func compare(ctx context.Context, was, now *snapshot.Snapshot, fields []int32, commits Commits, account *account) (*Rows, error) {
	columns := columnsOf(was.Schema(), now.Schema(), fields)
	c := &comparison{account: account, versions: [2]uint64{was.Version(), now.Version()}, fields: columns.ids, commits: commits}
	if columns.differ {
		c.commits = nil // row versions do not record added and dropped columns
	}
	c.pair(was, now, columns)
	rows, err := c.compare(ctx)
	if err != nil {
		c.account.held.Release()
		return nil, fmt.Errorf("compare version %d with version %d: %w", was.Version(), now.Version(), err)
	}
	return rows, nil
}

// A comparison covers the fragments that differ between two versions: was in the first, now in the
// second. The rows of all other fragments are equal.
type comparison struct {
	account  *account
	versions [2]uint64
	was, now []*fragment.Fragment
	kept     [][2]*fragment.Fragment // fragments of both versions with equal row ids and values
	fields   []int32                 // ids of the compared fields
	commits  Commits
}

// pair finds the fragments that differ.
func (c *comparison) pair(was, now *snapshot.Snapshot, columns columns) {
	paired := map[uint64]bool{}
	for _, f := range now.Fragments() {
		before := was.Fragment(f.Meta.ID)
		same := before != nil && f.SameRowIDs(before) && columns.same(f, before)
		switch {
		case same && f.SameDeletions(before):
			paired[f.Meta.ID] = true
			continue
		case same:
			c.kept = append(c.kept, [2]*fragment.Fragment{before, f})
		}
		c.now = append(c.now, f)
	}
	for _, f := range was.Fragments() {
		if !paired[f.Meta.ID] {
			c.was = append(c.was, f)
		}
	}
}

// compare computes gone and fresh from the two sets of live ids, then removes kept and moved rows
// from the common ids. The rest has changed.
func (c *comparison) compare(ctx context.Context) (*Rows, error) {
	if err := load(ctx, c.account.of, c.was, c.now); err != nil {
		return nil, err
	}
	was, err := c.live(ctx, c.was)
	if err != nil {
		return nil, err
	}
	now, err := c.live(ctx, c.now)
	if err != nil {
		return nil, err
	}
	gone, err := was.without(ctx, now)
	if err != nil {
		return nil, err
	}
	fresh, err := now.without(ctx, was)
	if err != nil {
		return nil, err
	}
	// From here on, was holds the ids that are live in both versions.
	if err := was.intersect(ctx, now); err != nil {
		return nil, err
	}
	now.drop()
	changed := was
	if err := c.dropKept(ctx, changed); err != nil {
		return nil, err
	}
	if err := c.dropMoved(ctx, changed); err != nil {
		return nil, err
	}
	return &Rows{Gone: gone.set, Fresh: fresh.set, Changed: changed.set, account: c.account}, c.account.settle(ctx, gone, fresh, changed)
}

// load reads the row ids and deletion files of fragments in parallel.
func load(ctx context.Context, of idsOf, lists ...[]*fragment.Fragment) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	for _, fragments := range lists {
		for _, f := range fragments {
			group.Go(func() (err error) {
				defer lance.Contain(func(e error) { err = e })
				_, ids := of(ctx, f)
				_, deletions := f.Deletions(ctx)
				return errors.Join(ids, deletions)
			})
		}
	}
	return group.Wait()
}

// live returns the ids of all live rows of fragments.
func (c *comparison) live(ctx context.Context, fragments []*fragment.Fragment) (*ids, error) {
	all := c.account.ids()
	rows := uint64(0)
	for _, f := range fragments {
		n, err := all.addLive(ctx, f)
		if err != nil {
			return nil, err
		}
		rows += n
	}
	if n := all.set.GetCardinality(); n != rows {
		return nil, fmt.Errorf("%w: %d rows have %d ids", ErrNotComparable, rows, n)
	}
	return all, nil
}

// dropKept removes the ids of rows that are live at the same place with the same values in both
// versions.
func (c *comparison) dropKept(ctx context.Context, common *ids) error {
	for _, pair := range c.kept {
		was, now := c.account.ids(), c.account.ids()
		if _, err := was.addLive(ctx, pair[0]); err != nil {
			return err
		}
		if _, err := now.addLive(ctx, pair[1]); err != nil {
			return err
		}
		if err := was.intersect(ctx, now); err != nil {
			return err
		}
		if err := common.subtract(ctx, was); err != nil {
			return err
		}
		was.drop()
		now.drop()
	}
	return nil
}

// dropMoved removes the ids of rows last changed by the same version in both states, if all
// operations in between recorded their changes.
func (c *comparison) dropMoved(ctx context.Context, common *ids) error {
	if common.set.IsEmpty() {
		return nil
	}
	trusted, err := isTrusted(ctx, c.versions[0], c.versions[1], c.fields, c.commits)
	if err != nil || !trusted {
		return err
	}
	was, err := c.byVersion(ctx, c.was, common)
	if err != nil {
		return err
	}
	now, err := c.byVersion(ctx, c.now, common)
	if err != nil {
		return err
	}
	for version, rows := range was {
		if others := now[version]; others != nil {
			if err := rows.intersect(ctx, others); err != nil {
				return err
			}
			if err := common.subtract(ctx, rows); err != nil {
				return err
			}
			others.drop()
		}
		rows.drop()
	}
	for _, rows := range now {
		rows.drop()
	}
	return nil
}

// byVersion groups ids by the version that last changed their rows. Rows of fragments without row
// versions are left out.
func (c *comparison) byVersion(ctx context.Context, fragments []*fragment.Fragment, among *ids) (map[uint64]*ids, error) {
	all := map[uint64]*ids{}
	for _, f := range fragments {
		versions, err := f.UpdatedVersions(ctx)
		if err != nil {
			return nil, err
		}
		if versions == nil {
			continue
		}
		part := map[uint64]*ids{}
		from := int64(0)
		for end, version := range versions.Runs() {
			if part[version] == nil {
				part[version] = c.account.ids()
			}
			if _, err := part[version].addLiveOf(ctx, f, from, end); err != nil {
				return nil, err
			}
			from = end
		}
		for version, rows := range part {
			if err := rows.intersect(ctx, among); err != nil {
				return nil, err
			}
			switch {
			case rows.set.IsEmpty():
				rows.drop()
			case all[version] == nil:
				all[version] = rows
			default:
				if err := all[version].unite(ctx, rows); err != nil {
					return nil, err
				}
				rows.drop()
			}
		}
	}
	return all, nil
}
