package operation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// Names of entries in the index section that are not indices of columns.
const (
	fragmentReuseIndex = "__lance_frag_reuse" // how compactions moved rows that indices still name
	memWALIndex        = indexmeta.MemWAL
)

func isSystem(x *pb.IndexMetadata) bool { return x.Name == fragmentReuseIndex || x.Name == memWALIndex }

// An indexList holds the entries of the index section, decoded when they are first needed.
// Entries are shared with the version before, so they are replaced by copies and not
// changed.
type indexList struct {
	list    []*pb.IndexMetadata
	loaded  bool
	changed bool
}

// load decodes the index section on first use.
func (l *indexList) load(m *manifest.Manifest) error {
	if l.loaded {
		return nil
	}
	list, err := m.Indices()
	l.list, l.loaded = list, true
	return err
}

// keep removes the entries for which f is false.
func (l *indexList) keep(f func(*pb.IndexMetadata) bool) {
	n := len(l.list)
	l.list = slices.DeleteFunc(l.list, func(x *pb.IndexMetadata) bool { return !f(x) })
	l.changed = l.changed || len(l.list) != n
}

// cover changes the coverage of the entry at i. An entry without recorded coverage stays unchanged.
func (l *indexList) cover(i int, change func(*roaring.Bitmap) error) error {
	if len(l.list[i].FragmentBitmap) == 0 {
		return nil
	}
	x, changed, err := recovered(l.list[i], change)
	if err != nil {
		return err
	}
	if changed {
		l.list[i], l.changed = x, true
	}
	return nil
}

// recovered returns a copy of an entry with a changed coverage, and whether it differs.
func recovered(x *pb.IndexMetadata, change func(*roaring.Bitmap) error) (*pb.IndexMetadata, bool, error) {
	fail := func(err error) (*pb.IndexMetadata, bool, error) {
		return nil, false, fmt.Errorf("coverage of index %s: %w", x.Name, err)
	}
	before, err := bitmap(x.FragmentBitmap)
	if err != nil {
		return fail(err)
	}
	after := before.Clone()
	if err := change(after); err != nil {
		return fail(err)
	}
	if after.Equals(before) {
		return x, false, nil
	}
	fresh := *x
	if fresh.FragmentBitmap, err = after.ToBytes(); err != nil {
		return fail(err)
	}
	return &fresh, true, nil
}

// uncover removes fragments from the coverage of all indices that depend on one of the
// fields, whose values have changed in these fragments.
func (c *change) uncover(fragments []*pb.Fragment, fields []uint32) error {
	if len(fragments) == 0 || len(fields) == 0 {
		return nil
	}
	if err := c.indices.load(c.base); err != nil {
		return err
	}
	for i, x := range c.indices.list {
		if !dependsOn(x, fields) {
			continue
		}
		if err := c.indices.cover(i, func(b *roaring.Bitmap) error {
			removeAll(b, fragments)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func dependsOn(x *pb.IndexMetadata, fields []uint32) bool {
	return slices.ContainsFunc(x.Fields, func(id int32) bool { return slices.Contains(fields, uint32(id)) })
}

// removeAll removes the ids of fragments from a coverage.
func removeAll(b *roaring.Bitmap, fragments []*pb.Fragment) {
	for _, f := range fragments {
		b.Remove(uint32(f.ID))
	}
}

func containsAll(b *roaring.Bitmap, fragments []uint64) bool {
	return !slices.ContainsFunc(fragments, func(id uint64) bool { return !b.Contains(uint32(id)) })
}

// coverMoved extends the coverage of indices to fragments to which rows have moved with
// their ids. That requires that nothing on which the index depends has changed, that the
// index refers to rows by ids, and that it covered all rows at their old places.
func (c *change) coverMoved(op *pb.Update, added []*pb.Fragment) error {
	if len(added) == 0 {
		return nil
	}
	if err := c.indices.load(c.base); err != nil {
		return err
	}
	from := slices.Clone(op.RemovedFragmentIDs)
	for _, f := range op.UpdatedFragments {
		from = append(from, f.ID)
	}
	for i, x := range c.indices.list {
		if indexmeta.NamesAddresses(x) || dependsOn(x, op.FieldsForPreservingFragBitmap) {
			continue
		}
		if err := c.indices.cover(i, func(b *roaring.Bitmap) error {
			if containsAll(b, from) {
				for _, f := range added {
					b.Add(uint32(f.ID))
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// dropOrphanedIndices removes the entries of indices on columns that no longer exist, and
// segments that cover no existing fragment. One segment of each index stays in any case,
// because it records the parameters of the index.
func (c *change) dropOrphanedIndices() error {
	if len(c.base.IndexSection) == 0 {
		return nil
	}
	if err := c.indices.load(c.base); err != nil {
		return err
	}
	live := c.fieldIDs()
	c.indices.keep(func(x *pb.IndexMetadata) bool {
		return isSystem(x) || !slices.ContainsFunc(x.Fields, func(id int32) bool { return !live[id] })
	})
	there := roaring.New()
	for _, f := range c.next.Fragments {
		there.Add(uint32(f.ID))
	}
	byName := map[string][]*pb.IndexMetadata{}
	for _, x := range c.indices.list {
		if x.Name != fragmentReuseIndex && len(x.FragmentBitmap) > 0 {
			byName[x.Name] = append(byName[x.Name], x)
		}
	}
	useless := map[*pb.IndexMetadata]bool{}
	for _, segments := range byName {
		empty, err := emptySegments(segments, there)
		if err != nil {
			return err
		}
		for _, x := range empty {
			useless[x] = true
		}
	}
	c.indices.keep(func(x *pb.IndexMetadata) bool { return !useless[x] })
	return nil
}

// emptySegments returns the segments that cover no existing fragment; if all are empty, it
// leaves out the oldest.
func emptySegments(segments []*pb.IndexMetadata, there *roaring.Bitmap) ([]*pb.IndexMetadata, error) {
	if len(segments) < 2 {
		return nil, nil
	}
	var empty []*pb.IndexMetadata
	for _, x := range segments {
		covered, err := bitmap(x.FragmentBitmap)
		if err != nil {
			return nil, fmt.Errorf("coverage of index %s: %w", x.Name, err)
		}
		if !covered.Intersects(there) {
			empty = append(empty, x)
		}
	}
	if len(empty) < len(segments) {
		return empty, nil
	}
	slices.SortStableFunc(empty, func(a, b *pb.IndexMetadata) int {
		switch { // recorded ages come first
		case a.CreatedAt != nil && b.CreatedAt != nil:
			return cmp.Or(cmp.Compare(*a.CreatedAt, *b.CreatedAt), cmp.Compare(a.DatasetVersion, b.DatasetVersion))
		case a.CreatedAt != nil:
			return -1
		case b.CreatedAt != nil:
			return 1
		}
		return cmp.Compare(a.DatasetVersion, b.DatasetVersion)
	})
	return empty[1:], nil
}

// createIndex adds and removes index entries.
func (c *change) createIndex(op *pb.CreateIndex) error {
	if err := c.indices.load(c.base); err != nil {
		return err
	}
	gone := map[pb.UUID]bool{}
	for _, x := range op.RemovedIndices {
		gone[x.UUID] = true
	}
	names := map[string]bool{}
	for _, x := range op.NewIndices {
		gone[x.UUID] = true
		names[x.Name] = true
		if err := checkIndex(x, c.next.Schema); err != nil {
			return err
		}
	}
	c.indices.keep(func(x *pb.IndexMetadata) bool { return !gone[x.UUID] })
	if len(op.NewIndices) > 0 {
		c.indices.list = append(slices.Clip(c.indices.list), op.NewIndices...)
		c.indices.changed = true
	}
	// All segments of one index must identify rows alike, by id or by address, because queries
	// combine them.
	first := map[string]*pb.IndexMetadata{}
	for _, x := range c.indices.list {
		if !names[x.Name] {
			continue
		}
		if other := first[x.Name]; other == nil {
			first[x.Name] = x
		} else if indexmeta.NamesAddresses(other) != indexmeta.NamesAddresses(x) {
			return invalid("segments of index %s name rows by ids and by addresses; build all of them anew", x.Name)
		}
	}
	return nil
}

// checkIndex rejects entries that would make the table unwritable or unreadable.
func checkIndex(x *pb.IndexMetadata, s *schema.Schema) error {
	if x.Name == "" || x.Name == memWALIndex || len(x.CoveringFields) > 0 {
		return invalid("an index %q with %d covering fields", x.Name, len(x.CoveringFields))
	}
	for _, id := range x.Fields {
		if s.ByID(id) == nil {
			return invalid("index %s is on field %d, which the schema does not have", x.Name, id)
		}
	}
	return nil
}

// followRewrite keeps indices correct after fragments were replaced. Remapped segments cover the
// new fragments. In a table with stable row ids, so does every other segment that stores ids. The
// remaining segments still list the old fragments, which no longer exist; searches scan the new
// ones.
func (c *change) followRewrite(groups []pb.RewriteGroup, remapped []pb.RewrittenIndex) error {
	if len(c.base.IndexSection) == 0 {
		return nil
	}
	if err := c.indices.load(c.base); err != nil {
		return err
	}
	done := map[pb.UUID]bool{}
	for i := range remapped {
		if done[remapped[i].OldID] {
			return invalid("index segment %s is remapped twice", remapped[i].OldID)
		}
		done[remapped[i].OldID] = true
		if err := c.remap(&remapped[i], groups); err != nil {
			return err
		}
	}
	if !c.next.StableRowIDs() {
		return nil
	}
	fresh := map[pb.UUID]bool{}
	for i := range remapped {
		fresh[remapped[i].NewID] = true
	}
	for i, x := range c.indices.list {
		if x.Name == fragmentReuseIndex || fresh[x.UUID] {
			continue
		}
		if err := c.indices.cover(i, func(b *roaring.Bitmap) error {
			if !indexmeta.NamesAddresses(x) {
				return moveCoverage(b, groups)
			}
			for _, g := range groups {
				removeAll(b, g.OldFragments)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// remap replaces a segment by one built for the new fragments. The segment may have been dropped in
// the meantime.
func (c *change) remap(r *pb.RewrittenIndex, groups []pb.RewriteGroup) error {
	for i, x := range c.indices.list {
		if x.UUID != r.OldID {
			continue
		}
		if len(x.FragmentBitmap) == 0 {
			return invalid("index segment %s does not say what it covers", x.UUID)
		}
		moved, _, err := recovered(x, func(b *roaring.Bitmap) error { return moveCoverage(b, groups) })
		if err != nil {
			return err
		}
		fresh := *moved
		fresh.UUID, fresh.Files, fresh.BaseID = r.NewID, r.NewFiles, nil
		if r.NewDetails != nil {
			version := int32(r.NewVersion)
			fresh.Details, fresh.IndexVersion = r.NewDetails, &version
		}
		c.indices.list[i], c.indices.changed = &fresh, true
	}
	return nil
}

// moveCoverage replaces the old fragments of each group by the new ones in the coverage of
// a segment.
func moveCoverage(b *roaring.Bitmap, groups []pb.RewriteGroup) error {
	for _, g := range groups {
		covered := 0
		for _, f := range g.OldFragments {
			if b.Contains(uint32(f.ID)) {
				covered++
			}
		}
		switch covered {
		case 0:
			continue
		case len(g.OldFragments):
			removeAll(b, g.OldFragments)
			for _, f := range g.NewFragments {
				b.Add(uint32(f.ID))
			}
		default:
			return invalid("indexed fragments were joined with fragments that are not indexed")
		}
	}
	return nil
}
