// Package difference compares two versions of a table by rows: which rows are gone, which are
// fresh, and which have other values in some columns. Rows are known by their stable ids ([Of]) or, in
// tables without them, by where they lie ([ByAddress]).
//
// A comparison reads manifests, row ids, row versions and deletion files, and no values. It looks at
// the two states and not at the operations between them, so it works in both directions of time, and
// over restores, overwrites and operations that this code does not know. Let W and S be the
// versions. A row is live in a version that has it and has not deleted it.
//
//	gone    = live(W) − live(S)
//	fresh   = live(S) − live(W)
//	kept    = rows live in both, at the same place of a fragment whose files of the columns are the same
//	moved   = rows live in both that were last changed by the same version
//	changed = (live(W) ∩ live(S)) − kept − moved
//
// The versions that last changed rows count only when every operation between W and S recorded its
// changes (trust.go). Otherwise rows that moved count as changed: that is never wrong, only more work.
//
// By addresses, a row that moved is gone from where it was and fresh where it is.
//
// The other half of the package is for views, whose rows carry the ids of their source rows: [Find]
// finds the rows of a view by those ids, and [Places] the places of rows by their own ids.
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

// ErrNotComparable means that two versions cannot be compared by rows: one of them has no stable
// row ids, an id belongs to two rows, or the sets of ids would take more than 256 MiB. Who keeps
// something up to date by differences has to make it anew.
var ErrNotComparable = errors.New("the versions cannot be compared by rows")

// Rows are the rows that differ between two versions, by their stable ids or their addresses. The sets
// are disjoint and belong to the caller.
type Rows struct {
	Gone    *roaring64.Bitmap // live in the first version only
	Fresh   *roaring64.Bitmap // live in the second version only
	Changed *roaring64.Bitmap // live in both, with other values, as far as is known

	account *account
}

// Release returns the memory of the sets to the share of the context that they were made with.
// There is nothing to release in nil.
func (r *Rows) Release() {
	if r != nil {
		r.account.held.Release()
	}
}

// Digest identifies the rows that differ: it is the same for the same sets.
func (r *Rows) Digest() string {
	sum := sha256.New()
	ids := make([]uint64, 1024)
	runs := make([]byte, 0, 16*len(ids))
	for _, set := range []*roaring64.Bitmap{r.Gone, r.Fresh, r.Changed} {
		first, next := uint64(0), uint64(0) // the run that has not ended
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

// IsEmpty reports whether no row differs.
func (r *Rows) IsEmpty() bool {
	return r.Gone.IsEmpty() && r.Fresh.IsEmpty() && r.Changed.IsEmpty()
}

// Of compares two versions of a table. Values are compared in the columns that fields lists by field
// id, with those within them; a field that one of the versions lacks, or has with another type, has
// changed in all rows. commits finds what made the versions between the two; nil knows of none. The
// error is [ErrNotComparable], or that of a read.
func Of(ctx context.Context, was, now *snapshot.Snapshot, fields []int32, commits Commits) (*Rows, error) {
	return of(ctx, was, now, fields, commits, maxBytes)
}

func of(ctx context.Context, was, now *snapshot.Snapshot, fields []int32, commits Commits, limit int64) (*Rows, error) {
	for _, s := range []*snapshot.Snapshot{was, now} {
		if !s.Manifest().StableRowIDs() {
			return nil, fmt.Errorf("%w: version %d has no stable row ids", ErrNotComparable, s.Version())
		}
	}
	return compare(ctx, was, now, fields, commits, &account{limit: limit, of: stableIDs})
}

// ByAddress is [Of] for versions without stable row ids, whose rows it knows by their addresses.
func ByAddress(ctx context.Context, was, now *snapshot.Snapshot, fields []int32) (*Rows, error) {
	for _, s := range []*snapshot.Snapshot{was, now} {
		if s.Manifest().StableRowIDs() {
			return nil, fmt.Errorf("%w: version %d has stable row ids", ErrNotComparable, s.Version())
		}
	}
	return compare(ctx, was, now, fields, nil, &account{limit: maxBytes, of: addresses})
}

func compare(ctx context.Context, was, now *snapshot.Snapshot, fields []int32, commits Commits, account *account) (*Rows, error) {
	columns := columnsOf(was.Schema(), now.Schema(), fields)
	c := &comparison{account: account, versions: [2]uint64{was.Version(), now.Version()}, fields: columns.ids, commits: commits}
	if columns.differ {
		c.commits = nil // versions of rows do not record that columns come and go
	}
	c.pair(was, now, columns)
	rows, err := c.compare(ctx)
	if err != nil {
		c.account.held.Release()
		return nil, fmt.Errorf("compare version %d with version %d: %w", was.Version(), now.Version(), err)
	}
	return rows, nil
}

// A comparison is of the fragments that differ between two versions. Those of one version are
// was, those of the other now. The rows of all others are the same.
type comparison struct {
	account  *account
	versions [2]uint64
	was, now []*fragment.Fragment
	kept     [][2]*fragment.Fragment // those of both whose rows have the same ids and values
	fields   []int32                 // ids of those that are compared
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

// load reads the row ids and the deletion files of fragments, side by side.
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

// live returns the ids of all rows of fragments that are not deleted.
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

// dropKept removes the ids of rows that are live at the same place in both versions, where their
// values are the same.
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

// dropMoved removes the ids of rows that the same version last changed in both states, if all
// operations between recorded their changes.
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

// byVersion returns the ids among some by the versions that last changed their rows. Rows of
// fragments that do not record it are in no set.
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
