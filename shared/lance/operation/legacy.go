package operation

import (
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// checkComplete rejects legacy fragments that lack a column. Native readers and writers rely on
// every legacy fragment holding every column.
//
// Source: crate lance-table, src/transaction/validate.rs, schema_fragments_legacy_valid.
func checkComplete(m *manifest.Manifest) error {
	if version, err := m.FileVersion(); err != nil || version != lance.Legacy {
		return err
	}
	for _, f := range m.Fragments {
		held := heldFields(f)
		for field := range m.Schema.All() {
			if !held[field.ID] {
				return invalid("fragment %d does not hold column %s, as all fragments of legacy data files do: give values to it in every row", f.ID, m.Schema.Path(field.ID))
			}
		}
	}
	return nil
}

func heldFields(f *pb.Fragment) map[int32]bool {
	held := map[int32]bool{}
	for i := range f.Files {
		for _, id := range f.Files[i].Fields {
			held[id] = true
		}
	}
	return held
}
