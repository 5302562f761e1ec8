package operation

import (
	"fmt"
	"testing"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// wide returns a version of a table with many fragments.
func wide(b *testing.B, fragments int) *manifest.Manifest {
	b.Helper()
	op := &pb.Overwrite{Schema: fieldsWithout(0)}
	fields, columns := []int32{1, 2, 3}, []int32{0, 1, 2} // shared, as in manifests that are read
	for i := range fragments {
		op.Fragments = append(op.Fragments, &pb.Fragment{PhysicalRows: 10, Files: []pb.DataFile{{
			Path: fmt.Sprintf("%050d.lance", i), Fields: fields, ColumnIndices: columns, MajorVersion: 2, MinorVersion: 2, SizeBytes: 1000,
		}}})
	}
	m, err := Create(op, lance.V2_2, false)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func BenchmarkAppendTo100kFragments(b *testing.B) {
	m := wide(b, 100_000)
	op := &pb.Append{Fragments: []*pb.Fragment{{PhysicalRows: 10, Files: []pb.DataFile{{
		Path: "new", Fields: []int32{1, 2, 3}, ColumnIndices: []int32{0, 1, 2}, MajorVersion: 2, MinorVersion: 2,
	}}}}}
	for b.Loop() {
		if _, err := Apply(m, op); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode100kFragments(b *testing.B) {
	m := wide(b, 100_000)
	for b.Loop() {
		if _, err := m.Encode(nil); err != nil {
			b.Fatal(err)
		}
	}
}
