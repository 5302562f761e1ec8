package cherrypick

import (
	"fmt"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// tombstone replaces the id of a field in the field list of a copied file that also holds other
// columns.
const tombstone = -2

// A File is a data file of the branch with values of added columns, to be copied.
type File struct {
	*fragment.File
	Fragment uint64
	Blobs    bool // it may have blob side files
}

// Files returns the branch's files with values of added columns. The table adopts the columns'
// field ids, which it has never used. If values also lie elsewhere, the error is
// [lance.ErrUnsupported].
func (d *Diff) Files() ([]File, error) {
	added := d.addedIDs()
	if err := d.checkBases(); err != nil {
		return nil, err
	}
	for id := range d.Branch.Manifest().Dictionaries {
		if slices.Contains(added, id) {
			return nil, fmt.Errorf("%w: cherry-pick of column %s, whose dictionary is in the manifest of the branch", lance.ErrUnsupported, d.Branch.Schema().Path(id))
		}
	}
	var files []File
	for _, f := range d.Branch.Fragments() {
		for _, file := range f.Holding(added) {
			if slices.ContainsFunc(file.Meta().Fields, func(id int32) bool { return id < 0 && id != tombstone }) {
				return nil, fmt.Errorf("%w: cherry-pick of data file %s, which holds row ids", lance.ErrUnsupported, file.Meta().Path)
			}
			files = append(files, File{file, f.Meta.ID, d.addsBlobs()})
		}
	}
	return files, nil
}

// addedIDs returns the field ids of added columns, nested fields included.
func (d *Diff) addedIDs() (ids []int32) {
	for f := range (&schema.Schema{Fields: d.Added}).All() {
		ids = append(ids, f.ID)
	}
	return ids
}

// addsBlobs reports whether an added column may have blob side files.
func (d *Diff) addsBlobs() bool { return slices.ContainsFunc(d.Added, (*schema.Field).HoldsBlobsV2) }

// checkBases rejects blobs that may refer to base paths of the branch's manifest: the same ids mean
// other paths in the table's.
func (d *Diff) checkBases() error {
	if !d.addsBlobs() {
		return nil
	}
	for _, base := range d.Branch.Manifest().BasePaths {
		if !base.IsDatasetRoot && !hasBase(d.Main.Manifest(), base) {
			return fmt.Errorf("%w: cherry-pick of blobs of a branch with the base path %s of its own", lance.ErrUnsupported, base.Path)
		}
	}
	return nil
}

func hasBase(m *manifest.Manifest, base pb.BasePath) bool {
	return slices.ContainsFunc(m.BasePaths, func(b pb.BasePath) bool { return b.ID == base.ID && b.Path == base.Path })
}

// Merge returns the operation on the table. copies holds the paths of the copied files below the
// data folder.
func (d *Diff) Merge(files []File, copies []string) *pb.Merge {
	main := d.Main.Manifest()
	added := map[uint64][]pb.DataFile{}
	ids := d.addedIDs()
	for i, file := range files {
		copied := *file.Meta()
		copied.Path, copied.BaseID = copies[i], nil
		copied.Fields = slices.Clone(copied.Fields)
		// Other fields of the copied file already have a file in the table.
		for j, id := range copied.Fields {
			if !slices.Contains(ids, id) {
				copied.Fields[j] = tombstone
			}
		}
		added[file.Fragment] = append(added[file.Fragment], copied)
	}
	op := &pb.Merge{
		Fragments: slices.Clone(main.Fragments), Schema: append(main.Schema.PB(), (&schema.Schema{Fields: d.Added}).PB()...),
		SchemaMetadata: main.Schema.Metadata, PreservesNullability: true,
	}
	for _, f := range d.Added {
		op.PreservesNullability = op.PreservesNullability && f.Nullable
	}
	for i, f := range op.Fragments {
		if more := added[f.ID]; len(more) > 0 {
			again := *f
			again.Files = append(slices.Clip(f.Files), more...)
			op.Fragments[i] = &again
		}
	}
	return op
}
