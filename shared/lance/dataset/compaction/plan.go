// Package compaction merges small fragments and removes deleted rows by rewriting fragments. [Plan]
// chooses groups of fragments. [Run] rewrites and commits them, together with the index segments
// that store row addresses. For example, with a target of 1000 rows,
//
//	fragment   1      2      3               4
//	rows       100    200    5000            2000
//	deleted    0      0      900 (18 %)      0
//
// is planned as one group, 1 2 3: two small fragments and, next to them, one with more than 10 %
// deleted rows. Fragment 4 stays.
package compaction

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/internal/fragreuse"
	"tiltyard/shared/lance/operation"
)

// Options are the parameters of a compaction. Zero values mean the defaults, which are native
// Lance's where it has them.
type Options struct {
	// TargetRows is the number of rows from which a fragment is large enough. Smaller neighbours
	// are merged. The default and maximum is 1,048,576.
	TargetRows int64
	// TargetBytes is the size of data files from which a fragment is large enough, however few its
	// rows; 4 GiB by default.
	TargetBytes int64
	// DeletedShare is the fraction of deleted rows above which a fragment is rewritten without
	// them; 0.1 by default. 1 disables it.
	DeletedShare float64
	// MaxFragments bounds the fragments of one run, which always includes at least one group.
	// Unlimited by default.
	MaxFragments int
	// MinFragments is the least number of fragments to merge; 2 by default.
	MinFragments int
	// Tiered skips a fragment that is larger than all its neighbours together. In a growing table
	// that is compacted regularly, each row is then rewritten log n times instead of n times.
	Tiered bool
	// Extend rebuilds index segments that store row addresses. Fragments covered by such a segment
	// are skipped if Extend is nil or cannot rebuild it.
	Extend segments.Extender
	// Own skips fragments with files of another table, as in a branch or a shallow clone, because
	// rewriting would copy them.
	Own bool
}

const (
	defaultTargetBytes  = 4 << 30
	defaultDeletedShare = 0.1
	compactionConfig    = "lance.compaction." // prefix of table config keys
)

// resolved fills in the defaults, first from the table's config, where native writers store them.
func (o Options) resolved(config map[string]string) (Options, error) {
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
		o.TargetRows = stage.MaxFileRows // larger fragments cannot be written
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

// fill parses value and stores it if the target is zero.
func fill[T comparable](to *T, value string, parse func(string) (T, error)) error {
	parsed, err := parse(value)
	var unset T
	if err == nil && *to == unset {
		*to = parsed
	}
	return err
}

// A candidate is a fragment worth rewriting, alone or with a neighbour.
type candidate struct {
	fragment *fragment.Fragment
	itself   bool
	coverage string // identifies the indices that cover it
}

// Plan returns groups of fragment ids, each to be rewritten together: runs of small neighbours
// covered by the same indices, and fragments with many deleted rows. It uses the manifest alone.
// The groups are those of native Lance, except that bytes count as well as rows.
//
// An index that stores addresses loses rows that move. A fragment covered by such an index is left
// out unless its segments can be rebuilt.
func Plan(d *dataset.Dataset, opts Options) ([][]uint64, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	opts, err := opts.resolved(d.Manifest().Config)
	if err != nil {
		return nil, err
	}
	covered, err := indexCoverage(d, opts)
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
		// A fragment that stays ends the run, because merged rows must be adjacent.
		if c.coverage = covered.of(f); !ok || covered.bound.Contains(uint32(f.Meta.ID)) {
			end()
			continue
		}
		// Indices cover whole fragments, so only equally covered ones may be merged.
		if len(bin) > 0 && bin[0].coverage != c.coverage {
			end()
		}
		bin = append(bin, c)
	}
	end()
	if opts.Tiered {
		groups = slices.DeleteFunc(groups, func(g []uint64) bool { return costsIndices(d, g, covered) })
	}
	return firstOf(groups, opts.MaxFragments), nil
}

// indexedRatio bounds the rows of rebuilt segments per rewritten row in a tiered compaction.
const indexedRatio = 8

// costsIndices reports whether a group has too few rows for the segments that it would rebuild.
func costsIndices(d *dataset.Dataset, group []uint64, covered coverage) bool {
	written := int64(0)
	for _, id := range group {
		written += d.Fragment(id).LiveRows()
	}
	return slices.ContainsFunc(covered.movable, func(s snapshot.Covering) bool {
		return s.Live.Contains(uint32(group[0])) && s.Rows > indexedRatio*written
	})
}

// candidateOf reports whether a fragment is small, or has enough deleted rows to be rewritten
// alone.
func candidateOf(f *fragment.Fragment, opts Options) (candidate, bool) {
	lost := float64(f.DeletedRows()) > opts.DeletedShare*float64(f.Rows)
	small := f.Rows < opts.TargetRows && f.Bytes() < opts.TargetBytes
	return candidate{fragment: f, itself: lost}, lost || small
}

// tiers cuts a run of candidates at each fragment that is larger than all others together, unless
// it is worth rewriting alone.
func tiers(bin []candidate, opts Options) [][]candidate {
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

// split cuts a run of candidates into groups of at least the target size, as long as the rest also
// reaches it. A single fragment is a group only if it is worth rewriting alone.
func split(bin []candidate, opts Options) [][]uint64 {
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

// firstOf returns the first groups with at most bound fragments in total, at least one group.
func firstOf(groups [][]uint64, bound int) [][]uint64 {
	total := 0
	for i, g := range groups {
		if total += len(g); total > bound && i > 0 {
			return groups[:i]
		}
	}
	return groups
}

// coverage lists the covered fragments of each index.
type coverage struct {
	indices []*roaring.Bitmap
	bound   *roaring.Bitmap     // fragments covered by address-based segments that cannot be rebuilt
	movable []snapshot.Covering // address-based segments that can be rebuilt
	unknown bool                // a segment does not record its coverage, or holds addresses from before a compaction
}

// indexCoverage sorts the index segments of a version by the effect of moved rows: none for
// segments of stable ids, a rebuild for those that Extend supports, and a bar to compaction for the
// rest.
func indexCoverage(d *dataset.Dataset, opts Options) (coverage, error) {
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
		// Rows must not move twice before their segment is rebuilt.
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

// of returns a string that identifies the indices that cover a fragment.
func (c coverage) of(f *fragment.Fragment) string {
	var names []string
	for i, b := range c.indices {
		if b.Contains(uint32(f.Meta.ID)) {
			names = append(names, strconv.Itoa(i))
		}
	}
	return strings.Join(names, " ")
}

// Result is the outcome of a compaction. Dataset is nil if there was nothing to do.
type Result struct {
	Dataset   *dataset.Dataset // the new version
	Removed   int              // number of old fragments
	Added     int              // number of new fragments
	Remaining int              // fragments of groups left for a later run
}

// Run rewrites the groups of a plan and commits them as one version. Groups beyond 1 GiB are left
// for a later run. Concurrent changes of the rows make it fail with an error for which
// dataset.IsRowsChanged holds.
func Run(ctx context.Context, d *dataset.Dataset, opts Options) (Result, error) {
	groups, err := Plan(d, opts)
	if err != nil || len(groups) == 0 {
		return Result{}, err
	}
	now, remaining := firstBytes(d, groups)
	moved, now, err := movedBy(ctx, d, now, opts)
	if err != nil || len(now) == 0 {
		return Result{}, err
	}
	made, r, err := rewriteAll(ctx, d, now, moved, opts.Extend)
	if err != nil {
		return Result{}, err
	}
	done := Result{Dataset: made, Remaining: remaining}
	for _, g := range r.groups {
		done.Removed += len(g.OldFragments)
		done.Added += len(g.NewFragments)
	}
	return done, nil
}

// compactionBytes bounds the work that a conflicting commit can waste.
const compactionBytes = 1 << 30

// firstBytes returns the first groups up to compactionBytes and the number of fragments in the
// others.
func firstBytes(d *dataset.Dataset, groups [][]uint64) (first [][]uint64, others int) {
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
