package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/internal/fragreuse"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// openIndices opens the version of testdata/indices.manifest. It has no data files, so the tested
// functions must not need any.
func openIndices(t *testing.T) *Snapshot {
	t.Helper()
	file, err := os.ReadFile("testdata/indices.manifest")
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	at := objectstore.Location{URI: "memory://test/t.lance", Store: memstore.New(), Prefix: "t.lance"}
	s, err := New(NewPlace(&Shared{Cache: cache.New(0)}, at), m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// toldIndex is the description of an index as listed by native Lance.
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
	indices, err := openIndices(t).Indices()
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
	d := openIndices(t)
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

// miscounted is a bitmap of 65,536 fragments that gives their number as 5,000.
var miscounted = slices.Concat([]byte{0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 0x87, 0x13, 16, 0, 0, 0}, bytes.Repeat([]byte{0xff}, 1<<13))

// A bitmap of fragments with contradictory parts does not crash the process in any comparison.
func TestContradictoryCoverageIsDamage(t *testing.T) {
	s := openIndices(t)
	entries, err := s.manifest.Indices()
	if err != nil {
		t.Fatal(err)
	}
	moved := roaring.New()
	moved.AddRange(0, 40_000)
	reused, err := moved.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	entries[0].FragmentBitmap = miscounted
	unreadable := &pb.IndexMetadata{Name: fragreuse.Name, FragmentBitmap: reused}
	s.manifest.SetIndices(append(entries, unreadable))
	if _, err := s.Indices(); err != nil {
		t.Errorf("the other indices: %v", err)
	}
	if _, _, err := s.coverageOf(entries[0]); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("got %v, want lance.ErrCorrupt", err)
	}
}

// An undecodable entry is left out and the others stay.
func TestDamagedEntriesAreLeftOut(t *testing.T) {
	for name, damage := range map[string]func(x *pb.IndexMetadata){
		"coverage":                func(x *pb.IndexMetadata) { x.FragmentBitmap = []byte{1, 2, 3} },
		"coverage that is no set": func(x *pb.IndexMetadata) { x.FragmentBitmap = miscounted },
		"details": func(x *pb.IndexMetadata) {
			x.Details = &pb.Any{TypeURL: "/lance.table.InvertedIndexDetails", Value: []byte{0xff}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openIndices(t)
			entries, err := s.manifest.Indices()
			if err != nil {
				t.Fatal(err)
			}
			all, err := openIndices(t).Indices()
			if err != nil {
				t.Fatal(err)
			}
			damaged := entries[slices.IndexFunc(entries, func(x *pb.IndexMetadata) bool { return x.Name == "text_idx" })]
			damage(damaged)
			s.manifest.SetIndices(entries)
			got, err := s.Indices()
			if err != nil || len(got) != len(all)-1 {
				t.Errorf("got %d of %d indices, want one less; error %v", len(got), len(all), err)
			}
			reasons, err := s.DamagedIndices()
			if err != nil || len(reasons) != 1 || !errors.Is(reasons[0], lance.ErrCorrupt) {
				t.Errorf("got damage %v, want one lance.ErrCorrupt; error %v", reasons, err)
			}
			if _, err := s.Segments("text_idx"); !errors.Is(err, ErrNoIndex) {
				t.Errorf("segments of the damaged index: got %v, want ErrNoIndex", err)
			}
		})
	}
}
