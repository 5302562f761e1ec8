// Package indexmeta reads entries of a manifest's index section: the kind of an index, and the
// details that it was made with. A [Kind] has the names that clients and manifests give it; a
// [Description] is what an entry says of its index. Files of indices are read by package index.
package indexmeta

import (
	"math"
	"strings"
)

// A Kind is a kind of index.
type Kind uint8

// The kinds. An index of vectors is one Kind until its details are read.
const (
	Unknown Kind = iota // of no use to anybody here
	BTree
	Bitmap
	LabelList
	Ngram
	ZoneMap
	BloomFilter
	Text
	FM
	RTree
	Vector
)

// kinds has a row for each kind: all that the format has of it without a look into its files.
//
// Source: scalar/*.rs and lib.rs of crate lance-index.
var kinds = [...]struct {
	details   string // the message with its details in a manifest, without "IndexDetails"
	name      string // that clients use
	alias     string // another one
	version   int32  // the newest of the format that native Lance reads
	addresses int32  // the first version that names rows by addresses even where they have stable ids
	file      string // that only the kind has
}{
	Unknown:     {"", "Unknown", "", -1, never, ""},
	BTree:       {"lance.table.BTree", "BTREE", "", 1, 1, "page_lookup.lance"},
	Bitmap:      {"lance.table.Bitmap", "BITMAP", "", 0, never, ""},
	LabelList:   {"lance.table.LabelList", "LABEL_LIST", "", 1, never, ""},
	Ngram:       {"lance.table.NGram", "NGRAM", "", 0, never, ""},
	ZoneMap:     {"lance.table.ZoneMap", "ZONEMAP", "", 0, 0, ""},
	BloomFilter: {"lance.index.pb.BloomFilter", "BLOOMFILTER", "", 0, 0, ""},
	Text:        {"lance.table.Inverted", "FTS", "INVERTED", 3, never, "metadata.lance"},
	FM:          {"lance.index.pb.FM", "FM", "", 10, 0, ""},
	RTree:       {"lance.index.pb.RTree", "RTREE", "", 0, never, ""},
	Vector:      {"lance.index.pb.Vector", "Unknown", "", 2, never, ""}, // its details have the name
}

const never = math.MaxInt32

// String returns the name that clients use: BTREE, LABEL_LIST …
func (k Kind) String() string { return kinds[k].name }

// Newest returns the newest known version of the kind's format.
func (k Kind) Newest() int32 { return kinds[k].version }

// NamesAddresses reports whether segments of a version of the kind's format refer to rows by their addresses even in a
// table with stable row ids. Such a segment loses rows that move.
//
// Source: IndexMetadata::results_are_row_addrs of crate lance-table.
func (k Kind) NamesAddresses(version int32) bool { return version >= kinds[k].addresses }

// KindOf returns the kind of an index from the type URL of its details in a manifest: BTree
// for "/lance.table.BTreeIndexDetails". The package in the URL does not matter.
func KindOf(typeURL string) Kind {
	for k, row := range kinds {
		if Kind(k) != Unknown && strings.EqualFold(message(row.details)+detailsSuffix, message(typeURL)) {
			return Kind(k)
		}
	}
	return Unknown
}

// message returns the last part of the name of a type.
func message(name string) string { return name[strings.LastIndexAny(name, "./")+1:] }

const detailsSuffix = "IndexDetails"

// TypeURL returns the URL of the type that details the kind in a manifest.
func (k Kind) TypeURL() string { return "/" + kinds[k].details + detailsSuffix }

// vectorKinds are the names of indices on vectors.
var vectorKinds = []string{
	"IVF_FLAT", "IVF_SQ", "IVF_PQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_SQ", "IVF_HNSW_PQ",
}

// Names returns the names of all kinds, as clients write them.
func Names() []string {
	var names []string
	for k := BTree; k < Vector; k++ {
		names = append(names, k.String())
	}
	return append(names, vectorKinds...)
}

// KindNamed returns the kind that a client names, in any case and with or without underscores, of which LanceDB
// clients write some that native Lance does not (BLOOM_FILTER): Unknown when there is no such kind.
func KindNamed(name string) Kind {
	for k := BTree; k < Vector; k++ {
		if isNamed(kinds[k].name, name) || kinds[k].alias != "" && isNamed(kinds[k].alias, name) {
			return k
		}
	}
	if VectorKind(name) != "" {
		return Vector
	}
	return Unknown
}

func isNamed(kind, name string) bool {
	plain := strings.NewReplacer("_", "")
	return strings.EqualFold(plain.Replace(kind), plain.Replace(name))
}

// VectorKind returns the name of the kind of indices of vectors that a client names, in any case; it
// is empty when there is no such kind. VECTOR is another name for IVF_PQ.
func VectorKind(name string) string {
	if isNamed("VECTOR", name) {
		return "IVF_PQ"
	}
	for _, kind := range vectorKinds {
		if isNamed(kind, name) {
			return kind
		}
	}
	return ""
}
