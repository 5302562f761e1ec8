package alter

import (
	"slices"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// Without returns the fields of a version without some columns or struct members, named by path. A
// struct that loses its last member is dropped too.
func Without(v *snapshot.Snapshot, paths []string) ([]*pb.Field, error) {
	gone := map[int32]bool{}
	for _, path := range paths {
		chain, err := v.Schema().Resolve(path)
		if err != nil {
			return nil, v.NoColumn(path)
		}
		dropField(chain, gone)
	}
	return slices.DeleteFunc(v.Schema().PB(), func(f *pb.Field) bool {
		gone[f.ID] = gone[f.ID] || gone[f.ParentID] // parents precede their children
		return gone[f.ID]
	}), nil
}

// dropField marks the last field of a path as dropped, and each enclosing field left without
// members.
func dropField(chain []*schema.Field, gone map[int32]bool) {
	for i := len(chain) - 1; i >= 0; i-- {
		gone[chain[i].ID] = true
		if i == 0 || slices.ContainsFunc(chain[i-1].Children, func(f *schema.Field) bool { return !gone[f.ID] }) {
			return
		}
	}
}

// ReplaceFields adds one file to each fragment. Fields of the new file supersede those of old
// files; old files without a remaining field of s are dropped.
func ReplaceFields(fragments []*pb.Fragment, files []pb.DataFile, s *schema.Schema) []*pb.Fragment {
	const replaced = -2 // the id of a superseded field
	out := make([]*pb.Fragment, len(fragments))
	for i, f := range fragments {
		again := *f
		again.Files = nil
		for _, file := range f.Files {
			file.Fields = slices.Clone(file.Fields) // the slice is shared
			for j, id := range file.Fields {
				if slices.Contains(files[i].Fields, id) {
					file.Fields[j] = replaced
				}
			}
			if slices.ContainsFunc(file.Fields, func(id int32) bool { return s.ByID(id) != nil }) {
				again.Files = append(again.Files, file)
			}
		}
		again.Files = append(again.Files, files[i])
		out[i] = &again
	}
	return out
}
