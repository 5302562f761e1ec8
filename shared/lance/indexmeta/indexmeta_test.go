package indexmeta_test

import (
	"encoding/json"
	"testing"

	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
)

func TestKindsAreFoundByTheirDetails(t *testing.T) {
	for url, want := range map[string]indexmeta.Kind{
		"/lance.table.BTreeIndexDetails":          indexmeta.BTree,
		"/lance.index.pb.BloomFilterIndexDetails": indexmeta.BloomFilter,
		"type.googleapis.com/x.BTREEINDEXDETAILS": indexmeta.BTree,
		"/lance.table.InvertedIndexDetails":       indexmeta.Text,
		"/lance.index.pb.StrangeIndexDetails":     indexmeta.Unknown,
		"IndexDetails":                            indexmeta.Unknown,
		"":                                        indexmeta.Unknown,
	} {
		if got := indexmeta.KindOf(url); got != want {
			t.Errorf("%q: got %s, want %s", url, got, want)
		}
	}
}

// As IndexMetadata::results_are_row_addrs of crate lance-table has it.
func TestKindsNameRowsByAddresses(t *testing.T) {
	for url, from := range map[string]int32{ // the first version, of 0 to 2, that names addresses
		"/lance.table.BTreeIndexDetails": 1, "/lance.table.ZoneMapIndexDetails": 0, "/lance.index.pb.BloomFilterIndexDetails": 0,
		"/lance.index.pb.FMIndexDetails": 0, "/lance.index.pb.fmindexdetails": 0, "/lance.table.BitmapIndexDetails": 3,
		"/lance.table.LabelListIndexDetails": 3, "/lance.table.NGramIndexDetails": 3, "/lance.table.InvertedIndexDetails": 3,
		"/lance.index.pb.VectorIndexDetails": 3, "/lance.index.pb.RTreeIndexDetails": 3, "/lance.index.pb.StrangeIndexDetails": 3,
	} {
		for version := range int32(3) {
			x := &pb.IndexMetadata{Details: &pb.Any{TypeURL: url}, IndexVersion: &version}
			if got, want := indexmeta.NamesAddresses(x), version >= from; got != want {
				t.Errorf("%s, version %d: got %t, want %t", url, version, got, want)
			}
		}
	}
	if indexmeta.NamesAddresses(&pb.IndexMetadata{}) {
		t.Error("an entry without details names rows by addresses")
	}
}

func FuzzDescribe(f *testing.F) {
	for _, text := range []string{"", "\x08\x01\x10\x05\x1a\x02\x08\x01\x22\x04\x08\x08\x10\x04", "\x0a\x06simple\x12\x09\"English\"\x6a\x02\x08\x01"} {
		f.Add("/lance.index.pb.VectorIndexDetails", []byte(text))
		f.Add("/lance.table.InvertedIndexDetails", []byte(text))
	}
	f.Fuzz(func(t *testing.T, url string, value []byte) {
		described, err := indexmeta.Describe(&pb.Any{TypeURL: url, Value: value})
		if err == nil && !json.Valid([]byte(described.Details)) {
			t.Errorf("details %q are no JSON", described.Details)
		}
	})
}
