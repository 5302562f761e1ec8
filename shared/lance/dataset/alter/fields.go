package alter

import (
	"slices"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// Without returns the fields of a version that lacks columns, or members of structs, named by their
// paths. A struct that loses its last member goes too.
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
		gone[f.ID] = gone[f.ID] || gone[f.ParentID] // parents come first
		return gone[f.ID]
	}), nil
}

// dropField marks the last field of a path as gone, and those around it that then have
// no member.
func dropField(chain []*schema.Field, gone map[int32]bool) {
	for i := len(chain) - 1; i >= 0; i-- {
		gone[chain[i].ID] = true
		if i == 0 || slices.ContainsFunc(chain[i-1].Children, func(f *schema.Field) bool { return !gone[f.ID] }) {
			return
		}
	}
}

// ReplaceFields adds a file to each fragment and leaves out those without a field of s.
// What the new file has of the old fields it has instead of the old files.
func ReplaceFields(fragments []*pb.Fragment, files []pb.DataFile, s *schema.Schema) []*pb.Fragment {
	const replaced = -2 // in the place of a field's id
	out := make([]*pb.Fragment, len(fragments))
	for i, f := range fragments {
		again := *f
		again.Files = nil
		for _, file := range f.Files {
			file.Fields = slices.Clone(file.Fields) // lists are shared
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
