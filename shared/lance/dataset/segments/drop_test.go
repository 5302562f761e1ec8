package segments_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// openIndexed opens the table with testdata/indices.Manifest() as its newest version. It has no
// data files, so the tested functions must not need any.
func openIndexed(t *testing.T, now func() time.Time) *dataset.Dataset {
	t.Helper()
	file, err := os.ReadFile("../snapshot/testdata/indices.manifest")
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New()
	if _, err := store.Put(t.Context(), manifest.Key("t.lance", m.Version, manifest.V2), file, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	d, err := dataset.NewSession(0, now).Table(at, 0).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDropIndexRemovesAllItsSegments(t *testing.T) {
	d := openIndexed(t, time.Now)
	dropped, err := segments.Drop(t.Context(), d, "id_idx")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dropped.Index("id_idx"); !errors.Is(err, snapshot.ErrNoIndex) {
		t.Errorf("the index after it was dropped: error %v, want ErrNoIndex", err)
	}
	before, _ := d.Indices()
	after, err := dropped.Indices()
	if err != nil || len(after) != len(before)-1 {
		t.Errorf("%d indices after (%v), want %d", len(after), err, len(before)-1)
	}
	if _, err := segments.Drop(t.Context(), dropped, "id_idx"); !errors.Is(err, snapshot.ErrNoIndex) {
		t.Errorf("dropping it again: error %v, want ErrNoIndex", err)
	}
}

func TestIndicesThatNobodyKnowsAreHiddenAndCanBeDropped(t *testing.T) {
	d := openIndexed(t, time.Now)
	newer := int32(1000)
	added := &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{
		{UUID: pb.UUID{1}, Name: "strange", Fields: []int32{0}, Details: &pb.Any{TypeURL: "/lance.index.pb.StrangeIndexDetails"}},
		{UUID: pb.UUID{2}, Name: "newer", Fields: []int32{0}, Details: &pb.Any{TypeURL: "/lance.table.BTreeIndexDetails"}, IndexVersion: &newer},
		{UUID: pb.UUID{3}, Name: "old vectors", Fields: []int32{0}, Details: &pb.Any{TypeURL: "/lance.index.pb.VectorIndexDetails"}},
		{UUID: pb.UUID{4}, Name: "__lance_frag_reuse", Details: &pb.Any{TypeURL: "/lance.index.pb.FragmentReuseIndexDetails"}},
	}}
	d, err := d.Commit(t.Context(), added)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"strange", "newer", "__lance_frag_reuse"} {
		if _, err := d.Index(name); !errors.Is(err, snapshot.ErrNoIndex) {
			t.Errorf("index %s: error %v, want ErrNoIndex", name, err)
		}
	}
	old, err := d.Index("old vectors")
	if err != nil {
		t.Fatal(err)
	}
	if old.Kind.Type != "Unknown" || old.Bytes != -1 || old.Indexed != 0 || !old.Created.IsZero() {
		t.Errorf("an index that tells nothing is %+v", old)
	}
	if _, err := segments.Drop(t.Context(), d, "strange"); err != nil {
		t.Errorf("dropping an index of a kind that is not known: %v", err)
	}
	if _, err := segments.Drop(t.Context(), d, "__lance_frag_reuse"); !errors.Is(err, snapshot.ErrNoIndex) {
		t.Errorf("dropping what is no index: error %v, want ErrNoIndex", err)
	}
}
