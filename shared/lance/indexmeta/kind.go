// Package indexmeta reads entries of a manifest's index section: the kind of an index and its
// parameters. A [Kind] has the names used by clients and manifests; a [Description] describes the
// index of an entry. For example, details of the type URL /lance.table.BTreeIndexDetails mean the
// kind [BTree], which clients call BTREE. Package index reads index files.
package indexmeta

import (
	"math"
	"strings"
)

// A Kind is a kind of index.
type Kind uint8

// The kinds. An index of vectors is one Kind until its details are read.
const (
	Unknown Kind = iota // a kind that this library does not know
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
	name, alias string                           // that clients use
	details     string                           // the message in a manifest that has its details, without "IndexDetails"
	version     int32                            // the newest of the format that native Lance reads
	addresses   int64                            // the first that names rows by addresses even where they have stable ids
	file        string                           // unique to the kind
	describe    func(*Description, []byte) error // decodes the details; nil: they have nothing to show
}{
	Unknown:     {name: "Unknown", version: -1, addresses: never},
	BTree:       {name: "BTREE", details: "lance.table.BTree", version: 1, addresses: 1, file: "page_lookup.lance"},
	Bitmap:      {name: "BITMAP", details: "lance.table.Bitmap", addresses: never},
	LabelList:   {name: "LABEL_LIST", details: "lance.table.LabelList", version: 1, addresses: never},
	Ngram:       {name: "NGRAM", details: "lance.table.NGram", addresses: never},
	ZoneMap:     {name: "ZONEMAP", details: "lance.table.ZoneMap", addresses: 0},
	BloomFilter: {name: "BLOOMFILTER", details: "lance.index.pb.BloomFilter", addresses: 0},
	Text:        {name: "FTS", details: "lance.table.Inverted", alias: "INVERTED", version: 3, addresses: never, file: "metadata.lance", describe: (*Description).ofTexts},
	FM:          {name: "FM", details: "lance.index.pb.FM", version: 10, addresses: 0},
	RTree:       {name: "RTREE", details: "lance.index.pb.RTree", addresses: never},
	Vector:      {name: "Unknown", details: "lance.index.pb.Vector", version: 2, addresses: never, describe: (*Description).ofVectors}, // its details have the name
}

const never = math.MaxInt64

// String returns the name that clients use: BTREE, LABEL_LIST …
func (k Kind) String() string { return kinds[k].name }

// Newest returns the newest known version of the kind's format.
func (k Kind) Newest() int32 { return kinds[k].version }

// NamesAddresses reports whether segments of a version of the kind's format store row addresses
// even in a table with stable row ids. Such a segment loses rows that move.
//
// Source: IndexMetadata::results_are_row_addrs of crate lance-table.
func (k Kind) NamesAddresses(version int32) bool { return int64(version) >= kinds[k].addresses }

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

// KindNamed returns the kind of a client's name, or Unknown. Case and underscores are ignored,
// because LanceDB clients write names that native Lance does not (BLOOM_FILTER).
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

// isNamed compares names without regard to case and underscores.
func isNamed(kind, name string) bool {
	plain := strings.NewReplacer("_", "")
	return strings.EqualFold(plain.Replace(kind), plain.Replace(name))
}

// VectorKind returns the kind name of a vector index that a client names, in any case, or "".
// VECTOR means IVF_PQ.
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
