package dataset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Small updates add up to no more than a table may have, and can be taken back.
func TestMetadataOfATableIsBounded(t *testing.T) {
	first, err := datasettest.TableIn(memstore.New()).Create(t.Context(), datasettest.RowsOf(3))
	if err != nil {
		t.Fatal(err)
	}
	d := first.Dataset
	value := strings.Repeat("x", 1<<20)
	kinds := []func(*pb.UpdateMap) *pb.UpdateConfig{
		func(m *pb.UpdateMap) *pb.UpdateConfig { return &pb.UpdateConfig{Config: m} },
		func(m *pb.UpdateMap) *pb.UpdateConfig { return &pb.UpdateConfig{TableMetadata: m} },
		func(m *pb.UpdateMap) *pb.UpdateConfig { return &pb.UpdateConfig{SchemaMetadata: m} },
		func(m *pb.UpdateMap) *pb.UpdateConfig {
			return &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{0: m}}
		},
	}
	var refused error
	done := 0
	for i := range 10 {
		made, err := d.Commit(t.Context(), kinds[i%len(kinds)](&pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: fmt.Sprint("k", i), Value: &value}}}))
		if err != nil {
			refused = err
			continue
		}
		d = made
		done++
	}
	if !errors.Is(refused, schema.ErrBounds) || done != 3 || !strings.Contains(refused.Error(), "at most 4194304") {
		t.Errorf("%d updates of 1 MiB were made, and then: %v; want 3 and the bound", done, refused)
	}
	less, err := d.Commit(t.Context(), &pb.UpdateConfig{Config: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: "k0"}}}})
	if err != nil || less.Manifest().MetadataBytes() >= d.Manifest().MetadataBytes() {
		t.Errorf("metadata cannot be taken back: %v", err)
	}
}
