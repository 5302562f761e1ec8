package operation

import (
	"slices"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// Restored returns the manifest of the version after base, with the content of the old
// version. Numbers of fragments and rows that were allocated since stay allocated.
func Restored(base, old *manifest.Manifest) (*manifest.Manifest, error) {
	for _, m := range []*manifest.Manifest{base, old} {
		if err := CheckWritable(m); err != nil {
			return nil, err
		}
	}
	if base.StableRowIDs() && !old.StableRowIDs() {
		return nil, invalid("version %d has no stable row ids, which the table has had since: addresses would be taken for ids", old.Version)
	}
	m := old.Next()
	m.Version = base.Version + 1
	m.WriterVersion = &writerVersion
	if base.MaxFragmentID != nil {
		raiseMaxFragmentID(m, *base.MaxFragmentID)
	}
	m.NextRowID = max(m.NextRowID, base.NextRowID)
	// The flag for mixed file versions is never cleared.
	mixed := manifest.FlagMixedFileVersions
	m.ReaderFlags |= base.ReaderFlags & mixed
	m.WriterFlags |= base.WriterFlags & mixed
	return m, finish(m)
}

// Cloned returns the first manifest of a clone. It has the contents and version number of source, a
// version of the table at op.RefPath. A shallow clone refers to that table's files; a deep clone
// has copies of all files under the same paths in its own folder.
func Cloned(source *manifest.Manifest, op *pb.Clone) (*manifest.Manifest, error) {
	if err := CheckWritable(source); err != nil {
		return nil, err
	}
	m := source.Next()
	m.Version = source.Version
	m.Branch, m.Tag = op.BranchName, ""
	rebased := func(*uint32) *uint32 { return nil }
	if op.IsShallow {
		base := unusedBaseID(source.BasePaths, 0)
		m.BasePaths = append(slices.Clip(m.BasePaths), pb.BasePath{ID: base, Name: op.RefName, IsDatasetRoot: true, Path: op.RefPath})
		rebased = func(id *uint32) *uint32 {
			if id == nil {
				return &base
			}
			return id
		}
	} else {
		m.BasePaths = nil
	}
	m.Fragments = make([]*pb.Fragment, len(source.Fragments))
	for i, f := range source.Fragments {
		m.Fragments[i] = onBases(f, rebased)
	}
	indices, err := source.Indices()
	if err != nil {
		return nil, err
	}
	for _, x := range indices {
		x.BaseID = rebased(x.BaseID)
	}
	m.SetIndices(indices)
	return m, finish(m)
}

// onBases returns a copy of a fragment with rebased base paths.
func onBases(f *pb.Fragment, rebased func(id *uint32) *uint32) *pb.Fragment {
	c := *f
	c.Files = slices.Clone(f.Files)
	for i := range c.Files {
		c.Files[i].BaseID = rebased(c.Files[i].BaseID)
	}
	if f.DeletionFile != nil {
		d := *f.DeletionFile
		d.BaseID = rebased(d.BaseID)
		c.DeletionFile = &d
	}
	return &c
}
