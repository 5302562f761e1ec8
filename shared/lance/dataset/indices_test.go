package dataset

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/memstore"
)

// openIndexed opens the table of which testdata/indices.manifest is the newest version. It
// has no data files: nothing of what is asked here may need them.
func openIndexed(t *testing.T, now func() time.Time) *Dataset {
	t.Helper()
	file, err := os.ReadFile("testdata/indices.manifest")
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
	d, err := NewSession(0, now).Table(at, 0).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// toldIndex is what native Lance lists of an index.
type toldIndex struct {
	Name      string         `json:"index_name"`
	UUID      string         `json:"index_uuid"`
	Columns   []string       `json:"columns"`
	Type      string         `json:"index_type"`
	TypeURL   string         `json:"type_url"`
	Indexed   int64          `json:"num_indexed_rows"`
	Unindexed int64          `json:"num_unindexed_rows"`
	Bytes     int64          `json:"size_bytes"`
	Segments  int            `json:"num_segments"`
	Created   time.Time      `json:"created_at"`
	Version   int32          `json:"index_version"`
	Details   map[string]any `json:"index_details"`
}

func TestIndicesAreWhatNativeLanceLists(t *testing.T) {
	var want, got []toldIndex
	text, err := os.ReadFile("testdata/indices.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	indices, err := openIndexed(t, time.Now).Indices()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range indices {
		told := toldIndex{
			Name: x.Name, UUID: x.UUID, Columns: x.Columns, Type: x.Kind.Type, TypeURL: x.Kind.TypeURL,
			Indexed: x.Indexed, Unindexed: x.Unindexed, Bytes: x.Bytes, Segments: x.Segments, Created: x.Created, Version: x.Version,
		}
		if err := json.Unmarshal([]byte(x.Kind.Details), &told.Details); err != nil {
			t.Errorf("details of %s: %v", x.Name, err)
		}
		got = append(got, told)
	}
	// Native Lance writes some types in another case, which clients read alike.
	spelling := strings.NewReplacer("BTree", "BTREE", "Bitmap", "BITMAP", "LabelList", "LABEL_LIST", "NGram", "NGRAM",
		"ZoneMap", "ZONEMAP", "BloomFilter", "BLOOMFILTER", "Inverted", "FTS")
	for i := range want {
		want[i].Type = spelling.Replace(want[i].Type)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("indices (-want +got):\n%s", diff)
	}
}

func TestMetricsOfVectorIndices(t *testing.T) {
	d := openIndexed(t, time.Now)
	for name, want := range map[string]string{"plain_idx": "dot", "pq_idx": "cosine", "sq_idx": "l2", "bits_idx": "hamming", "id_idx": ""} {
		x, err := d.Index(name)
		if err != nil {
			t.Fatal(err)
		}
		if x.Kind.Metric != want || x.Kind.IsVector() != (want != "") {
			t.Errorf("%s has metric %q, IsVector %v; want %q", name, x.Kind.Metric, x.Kind.IsVector(), want)
		}
	}
}

func TestDropIndexRemovesAllItsSegments(t *testing.T) {
	d := openIndexed(t, time.Now)
	dropped, err := d.DropIndex(t.Context(), "id_idx")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dropped.Index("id_idx"); !errors.Is(err, ErrNoIndex) {
		t.Errorf("the index after it was dropped: error %v, want ErrNoIndex", err)
	}
	before, _ := d.Indices()
	after, err := dropped.Indices()
	if err != nil || len(after) != len(before)-1 {
		t.Errorf("%d indices after (%v), want %d", len(after), err, len(before)-1)
	}
	if _, err := dropped.DropIndex(t.Context(), "id_idx"); !errors.Is(err, ErrNoIndex) {
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
		if _, err := d.Index(name); !errors.Is(err, ErrNoIndex) {
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
	if _, err := d.DropIndex(t.Context(), "strange"); err != nil {
		t.Errorf("dropping an index of a kind that is not known: %v", err)
	}
	if _, err := d.DropIndex(t.Context(), "__lance_frag_reuse"); !errors.Is(err, ErrNoIndex) {
		t.Errorf("dropping what is no index: error %v, want ErrNoIndex", err)
	}
}
