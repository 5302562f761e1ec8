package indexmeta

import (
	"testing"

	"tiltyard/shared/lance/pb"
)

func TestKindsAreInferredFromFiles(t *testing.T) {
	bitmap := &pb.Any{TypeURL: Bitmap.TypeURL()}
	for _, test := range []struct {
		name    string
		files   []string
		details *pb.Any
		want    Kind
	}{
		{"a tree", []string{"page_data.lance", "page_lookup.lance"}, nil, BTree},
		{"texts", []string{"part_0_docs.lance", "part_0_invert.lance", "metadata.lance", "part_0_tokens.lance"}, nil, Text},
		{"files of which several kinds have some", []string{"page_data.lance"}, nil, Unknown},
		{"files that are not known", nil, nil, Unknown},
		{"an entry with details", []string{"page_lookup.lance"}, bitmap, Bitmap},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := &pb.IndexMetadata{Details: test.details}
			for _, path := range test.files {
				x.Files = append(x.Files, pb.IndexFile{Path: path})
			}
			Infer(x)
			if x.Details == nil {
				if test.want != Unknown {
					t.Fatalf("got no details, want those of %s", test.want)
				}
				return
			}
			if got, err := Describe(x.Details); err != nil || got.Of != test.want {
				t.Errorf("got %v %v, want %s", got, err, test.want)
			}
		})
	}
}
