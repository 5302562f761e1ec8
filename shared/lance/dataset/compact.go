package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/fragreuse"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/operation"
)

// CompactionOptions say what a compaction does. Zero values are the defaults, which are those
// of native Lance where that has them.
type CompactionOptions struct {
	// TargetRows is how many rows make a fragment large. Smaller ones are joined with their
	// neighbours. 1,048,576 by default, and at most.
	TargetRows int64
	// TargetBytes is how many bytes of data files do so, by default 4 GiB: fragments of very
	// wide rows need not have many.
	TargetBytes int64
	// DeletedShare is the part of a fragment's rows beyond which those that are deleted are
	// left out by writing it anew; 0.1 by default, 1 is never.
	DeletedShare float64
	// MaxFragments bounds the fragments that are rewritten in one go; no bound by default. At
	// least one group is, however large.
	MaxFragments int
	// MinFragments is how many fragments have to be joined for that to be worth it; 2 by default.
	MinFragments int
	// Tiered leaves a fragment that is larger than all its neighbours together out of what is
	// joined. A table that is compacted time and again, as it grows, is rewritten log n times
	// then, and not n times.
	Tiered bool
	// Extend builds the segments of indices anew that find rows of rewritten fragments by where they
	// are. Without it, and where it cannot, such fragments are left alone.
	Extend Extender
	// Own leaves fragments alone that have files in another table: in the one, or the branch,
	// that this is a branch or a shallow clone of. To write those anew is to copy them.
	Own bool
}

const (
	defaultTargetBytes  = 4 << 30
	defaultDeletedShare = 0.1
	compactionConfig    = "lance.compaction." // in front of keys of a table's config
)

// resolved fills in what is not set: from the table's config, where native writers put their
// defaults, and else as they do without it.
func (o CompactionOptions) resolved(config map[string]string) (CompactionOptions, error) {
	for key, value := range config {
		name, ours := strings.CutPrefix(key, compactionConfig)
		if !ours {
			continue
		}
		var err error
		switch name {
		case "target_rows_per_fragment":
			err = fill(&o.TargetRows, value, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
		case "materialize_deletions_threshold":
			err = fill(&o.DeletedShare, value, func(s string) (float64, error) { return strconv.ParseFloat(s, 32) })
		case "max_source_fragments":
			err = fill(&o.MaxFragments, value, strconv.Atoi)
		case "materialize_deletions":
			if strings.EqualFold(value, "false") {
				o.DeletedShare = 1
			}
		}
		if err != nil {
			return o, fmt.Errorf("%w: config %s is %.80q", operation.ErrInvalid, key, value)
		}
	}
	if o.TargetRows <= 0 || o.TargetRows > stage.MaxFileRows {
		o.TargetRows = stage.MaxFileRows // what is larger could not be made
	}
	if o.TargetBytes <= 0 {
		o.TargetBytes = defaultTargetBytes
	}
	if o.DeletedShare == 0 {
		o.DeletedShare = defaultDeletedShare
	}
	if o.MaxFragments <= 0 {
		o.MaxFragments = math.MaxInt
	}
	o.MinFragments = max(o.MinFragments, 2)
	return o, nil
}

// fill parses a value into what is not set.
func fill[T comparable](to *T, value string, parse func(string) (T, error)) error {
	parsed, err := parse(value)
	var unset T
	if err == nil && *to == unset {
		*to = parsed
	}
	return err
}

// A candidate is a fragment that a compaction would write anew: by itself, or when there is
// one beside it.
type candidate struct {
	fragment *fragment.Fragment
	itself   bool
	coverage string // the indices that cover it
}

// PlanCompaction returns groups of fragments, by their ids, of which each is worth writing
// anew as one: runs of small ones that are neighbours and covered by the same indices, and
// those that have lost many of their rows. It reads nothing. The groups are those that native
// Lance would make, but that bytes count as well as rows.
//
// Indices of a table without stable row ids, and some of one with them, find rows by where they
// are, which a rewriting changes. Fragments that such an index covers stay as they are, unless its
// segments can be built anew.
func (d *Dataset) PlanCompaction(opts CompactionOptions) ([][]uint64, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	opts, err := opts.resolved(d.Manifest().Config)
	if err != nil {
		return nil, err
	}
	covered, err := d.indexCoverage(opts)
	if err != nil || covered.unknown {
		return nil, err
	}
	var groups [][]uint64
	var bin []candidate
	end := func() {
		for _, tier := range tiers(bin, opts) {
			groups = append(groups, split(tier, opts)...)
		}
		bin = nil
	}
	for _, f := range d.Fragments() {
		c, ok := candidateOf(f, opts)
		ok = ok && !(opts.Own && f.Borrows())
		if c.coverage = covered.of(f); !ok || covered.bound.Contains(uint32(f.Meta.ID)) {
			end()
			continue
		}
		if len(bin) > 0 && bin[0].coverage != c.coverage {
			end()
		}
		bin = append(bin, c)
	}
	end()
	if opts.Tiered {
		groups = slices.DeleteFunc(groups, func(g []uint64) bool { return d.costsIndices(g, covered) })
	}
	return firstOf(groups, opts.MaxFragments), nil
}

// indexedRatio is how many rows of segments a tiered compaction may build anew for each row that it
// writes anew.
const indexedRatio = 8

// costsIndices reports whether segments that must be built anew for a group are too large for that.
func (d *Dataset) costsIndices(group []uint64, covered coverage) bool {
	written := int64(0)
	for _, id := range group {
		written += d.Fragment(id).LiveRows()
	}
	return slices.ContainsFunc(covered.movable, func(s snapshot.Covering) bool {
		return s.Live.Contains(uint32(group[0])) && s.Rows > indexedRatio*written
	})
}

func candidateOf(f *fragment.Fragment, opts CompactionOptions) (candidate, bool) {
	lost := float64(f.DeletedRows()) > opts.DeletedShare*float64(f.Rows)
	small := f.Rows < opts.TargetRows && f.Bytes() < opts.TargetBytes
	return candidate{fragment: f, itself: lost}, lost || small
}

// tiers cuts a run of candidates where there is one that is larger than all others together.
// Of those that are worth writing anew themselves the size does not matter.
func tiers(bin []candidate, opts CompactionOptions) [][]candidate {
	if !opts.Tiered || len(bin) < 2 {
		return [][]candidate{bin}
	}
	total, largest := int64(0), 0
	for i, c := range bin {
		total += c.fragment.LiveRows()
		if c.fragment.LiveRows() > bin[largest].fragment.LiveRows() {
			largest = i
		}
	}
	size := bin[largest].fragment.LiveRows()
	if bin[largest].itself || size <= total-size {
		return [][]candidate{bin}
	}
	return append(tiers(bin[:largest], opts), tiers(bin[largest+1:], opts)...)
}

// split cuts a run of candidates into groups that are large enough, as long as what is left is
// large enough, too. A single fragment is a group only if it is worth writing anew itself.
func split(bin []candidate, opts CompactionOptions) [][]uint64 {
	if len(bin) < opts.MinFragments && !slices.ContainsFunc(bin, func(c candidate) bool { return c.itself }) {
		return nil
	}
	rows, bytes := int64(0), int64(0)
	for _, c := range bin {
		rows += c.fragment.LiveRows()
		bytes += c.fragment.Bytes()
	}
	var groups [][]uint64
	var group []uint64
	groupRows, groupBytes := int64(0), int64(0)
	for _, c := range bin {
		group = append(group, c.fragment.Meta.ID)
		groupRows += c.fragment.LiveRows()
		groupBytes += c.fragment.Bytes()
		rows -= c.fragment.LiveRows()
		bytes -= c.fragment.Bytes()
		enough := groupRows >= opts.TargetRows && rows >= opts.TargetRows
		if enough || groupBytes >= opts.TargetBytes && bytes >= opts.TargetBytes {
			groups, group = append(groups, group), nil
			groupRows, groupBytes = 0, 0
		}
	}
	return append(groups, group)
}

// firstOf returns the first groups that have no more fragments than a bound; the first has.
func firstOf(groups [][]uint64, bound int) [][]uint64 {
	total := 0
	for i, g := range groups {
		if total += len(g); total > bound && i > 0 {
			return groups[:i]
		}
	}
	return groups
}

// coverage is what the indices of a version cover.
type coverage struct {
	indices []*roaring.Bitmap
	bound   *roaring.Bitmap     // fragments whose rows some index finds by where they are, and cannot follow
	movable []snapshot.Covering // segments that find rows by where they are, and can be built anew
	unknown bool                // there is one that does not say, or whose rows a compaction has moved before
}

func (d *Dataset) indexCoverage(opts CompactionOptions) (coverage, error) {
	entries, err := d.Manifest().Indices()
	if err != nil {
		return coverage{}, err
	}
	indices, err := d.Indices()
	if err != nil {
		return coverage{}, err
	}
	c := coverage{bound: roaring.New()}
	for _, x := range entries {
		if x.Name == fragreuse.Name {
			continue
		}
		if moved, err := d.IsMoved(x); moved || err != nil || len(x.FragmentBitmap) == 0 {
			return coverage{unknown: true}, err
		}
		b, err := d.CoveringOf(x)
		if err != nil {
			return coverage{}, err
		}
		c.indices = append(c.indices, b.Live)
		switch {
		case d.Manifest().StableRowIDs() && !indexmeta.NamesAddresses(x):
		case opts.Extend != nil && indexmeta.IsKnown(x) && slices.ContainsFunc(indices, func(of snapshot.Index) bool { return of.Name == x.Name && opts.Extend.CanExtend(of) }):
			c.movable = append(c.movable, b)
		default:
			c.bound.Or(b.Live)
		}
	}
	return c, nil
}

// of names the indices that cover a fragment.
func (c coverage) of(f *fragment.Fragment) string {
	var names []string
	for i, b := range c.indices {
		if b.Contains(uint32(f.Meta.ID)) {
			names = append(names, strconv.Itoa(i))
		}
	}
	return strings.Join(names, " ")
}

// Compacted is what a compaction did. Dataset is nil when there was nothing to do.
type Compacted struct {
	Dataset   *Dataset // the version that it made
	Removed   int      // fragments
	Added     int      // that took their place
	Remaining int      // fragments of groups that are left for another time
}

// Compact writes the groups that are worth it anew and commits that, as one version. Groups
// beyond what is a good deal for one commit are left for another time. Changes that others
// commit to the rows meanwhile make it stale; see IsRowsChanged.
func (d *Dataset) Compact(ctx context.Context, opts CompactionOptions) (Compacted, error) {
	groups, err := d.PlanCompaction(opts)
	if err != nil || len(groups) == 0 {
		return Compacted{}, err
	}
	now, remaining := d.firstBytes(groups)
	moved, now, err := d.movedBy(ctx, now, opts)
	if err != nil || len(now) == 0 {
		return Compacted{}, err
	}
	made, r, err := d.rewriteAll(ctx, now, moved, opts.Extend)
	if err != nil {
		return Compacted{}, err
	}
	done := Compacted{Dataset: made, Remaining: remaining}
	for _, g := range r.groups {
		done.Removed += len(g.OldFragments)
		done.Added += len(g.NewFragments)
	}
	return done, nil
}

// compactionBytes is how much is rewritten for one commit: what that gets to lose when another
// writer comes first.
const compactionBytes = 1 << 30

// firstBytes returns the first groups, up to compactionBytes, and how many fragments the
// others have.
func (d *Dataset) firstBytes(groups [][]uint64) (first [][]uint64, others int) {
	total := int64(0)
	for i, g := range groups {
		for _, id := range g {
			total += d.Fragment(id).Bytes()
		}
		if total > compactionBytes && i > 0 {
			return groups[:i], len(slices.Concat(groups[i:]...))
		}
	}
	return groups, 0
}
