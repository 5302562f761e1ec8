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
	// That the files of fragments may differ in version is never taken back.
	mixed := manifest.FlagMixedFileVersions
	m.ReaderFlags |= base.ReaderFlags & mixed
	m.WriterFlags |= base.WriterFlags & mixed
	return m, finish(m)
}

// Cloned returns the first manifest of a table that begins as the version source of the
// table at op.RefPath and refers to its files. It has the version number of source.
func Cloned(source *manifest.Manifest, op *pb.Clone) (*manifest.Manifest, error) {
	if !op.IsShallow {
		return nil, invalid("a clone that copies files")
	}
	if err := CheckWritable(source); err != nil {
		return nil, err
	}
	m := source.Next()
	m.Version = source.Version
	m.Branch, m.Tag = op.BranchName, ""
	base := unusedBaseID(source.BasePaths, 0)
	m.BasePaths = append(slices.Clip(m.BasePaths), pb.BasePath{ID: base, Name: op.RefName, IsDatasetRoot: true, Path: op.RefPath})
	m.Fragments = make([]*pb.Fragment, len(source.Fragments))
	for i, f := range source.Fragments {
		m.Fragments[i] = basedOn(f, base)
	}
	indices, err := source.Indices()
	if err != nil {
		return nil, err
	}
	for _, x := range indices {
		if x.BaseID == nil {
			x.BaseID = &base
		}
	}
	m.SetIndices(indices)
	return m, finish(m)
}

// basedOn returns a copy of a fragment whose own files lie below a base path.
func basedOn(f *pb.Fragment, base uint32) *pb.Fragment {
	c := *f
	c.Files = slices.Clone(f.Files)
	for i := range c.Files {
		if c.Files[i].BaseID == nil {
			c.Files[i].BaseID = &base
		}
	}
	if f.DeletionFile != nil && f.DeletionFile.BaseID == nil {
		d := *f.DeletionFile
		d.BaseID = &base
		c.DeletionFile = &d
	}
	return &c
}
