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
