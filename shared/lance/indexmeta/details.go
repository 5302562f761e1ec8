package indexmeta

import (
	"encoding/json"
	"strings"

	"tiltyard/shared/lance/pb"
)

// A Description describes the index of a manifest entry.
type Description struct {
	Of Kind
	// Type is the name used by clients: BTREE, IVF_PQ …. Unknown is a vector index whose entry is
	// too old to record its type.
	Type    string
	TypeURL string // of the details in its entry
	Metric  string // of a vector index: l2, cosine, dot or hamming
	// Details are the parameters that it was made with, as a JSON object.
	Details string
	Recall  *Recall // of a vector index that this engine built; nil: unknown
}

// IsVector reports whether the index is a vector index.
func (k Description) IsVector() bool { return k.Of == Vector }

// MemWAL is the name of the entry of a write-ahead log beside the table.
const MemWAL = "__lance_mem_wal"

// IsSystem reports whether an entry name is reserved: writers also keep data other than indices in
// the index section.
func IsSystem(name string) bool { return strings.HasPrefix(name, "__lance_") }

// VersionOf returns the version of an index's format: 0 if the entry has none.
func VersionOf(x *pb.IndexMetadata) int32 {
	if x.IndexVersion == nil {
		return 0
	}
	return *x.IndexVersion
}

// NamesAddresses reports whether the segment of an entry stores row addresses; see
// [Kind.NamesAddresses].
func NamesAddresses(x *pb.IndexMetadata) bool {
	return x.Details != nil && KindOf(x.Details.TypeURL).NamesAddresses(VersionOf(x))
}

// IsKnown reports whether readers support the kind and version of an entry.
func IsKnown(x *pb.IndexMetadata) bool {
	if x.Details == nil {
		return false
	}
	kind := KindOf(x.Details.TypeURL)
	return kind != Unknown && VersionOf(x) <= kind.Newest()
}

// Describe reads the details of an entry. Its error means that they cannot be decoded.
func Describe(details *pb.Any) (Description, error) {
	of := KindOf(details.TypeURL)
	kind := Description{Of: of, Type: of.String(), TypeURL: details.TypeURL, Details: "{}"}
	if describe := kinds[of].describe; describe != nil && len(details.Value) > 0 {
		return kind, describe(&kind, details.Value)
	}
	return kind, nil
}

func (k *Description) ofVectors(value []byte) error {
	var d pb.VectorIndexDetails
	if err := d.Unmarshal(value); err != nil {
		return err
	}
	k.Type, k.Metric, k.Recall = vectorType(&d), metricName(d.Metric), parseRecall(d.RuntimeHints)
	return k.detail(vectorDetails(&d))
}

func (k *Description) ofTexts(value []byte) error {
	var d pb.InvertedIndexDetails
	if err := d.Unmarshal(value); err != nil {
		return err
	}
	return k.detail(textDetails(&d))
}

func (k *Description) detail(of any) error {
	text, err := json.Marshal(of)
	k.Details = string(text)
	return err
}

// vectorType derives the name of a vector index, such as IVF_HNSW_SQ, from its details.
func vectorType(d *pb.VectorIndexDetails) string {
	name := "IVF_"
	if d.HNSW != nil {
		name = "IVF_HNSW_"
	}
	switch d.Compression {
	case pb.CompressionPQ:
		return name + "PQ"
	case pb.CompressionSQ:
		return name + "SQ"
	case pb.CompressionRQ:
		return name + "RQ"
	}
	return name + "FLAT"
}

// metricName returns the name of a metric, "" for one of a later version.
func metricName(m pb.VectorMetric) string {
	names := []string{pb.VectorL2: "l2", pb.VectorCosine: "cosine", pb.VectorDot: "dot", pb.VectorHamming: "hamming"}
	if int(m) >= len(names) {
		return ""
	}
	return names[m]
}

// vectorDetails are the details of a vector index under the names that native Lance
// lists them with.
func vectorDetails(d *pb.VectorIndexDetails) map[string]any {
	details := map[string]any{"metric_type": strings.ToUpper(metricName(d.Metric))}
	if len(d.RuntimeHints) > 0 {
		details["runtime_hints"] = d.RuntimeHints
	}
	if d.TargetPartitionSize > 0 {
		details["target_partition_size"] = d.TargetPartitionSize
	}
	if h := d.HNSW; h != nil {
		details["hnsw"] = map[string]any{
			"max_connections": h.MaxConnections, "construction_ef": h.ConstructionDepth, "max_level": h.MaxLevel,
		}
	}
	switch d.Compression {
	case pb.CompressionPQ:
		details["compression"] = map[string]any{"type": "pq", "num_bits": d.NumBits, "num_sub_vectors": d.NumSubVectors}
	case pb.CompressionSQ:
		details["compression"] = map[string]any{"type": "sq", "num_bits": d.NumBits}
	case pb.CompressionRQ:
		rotation := "fast"
		if d.RotationMatrix {
			rotation = "matrix"
		}
		details["compression"] = map[string]any{"type": "rq", "num_bits": d.NumBits, "rotation_type": rotation}
	}
	return details
}

// textDetails are the details of a full-text index, likewise. Clients make the same tokens
// of a text by them.
func textDetails(d *pb.InvertedIndexDetails) map[string]any {
	details := map[string]any{
		"lance_tokenizer": nil,
		"base_tokenizer":  "simple", "language": "English", "with_position": d.WithPosition,
		"max_token_length": d.MaxTokenLength, "lower_case": d.LowerCase, "stem": d.Stem,
		"remove_stop_words": d.RemoveStopWords, "custom_stop_words": nil, "ascii_folding": d.ASCIIFolding,
		"min_ngram_length": d.MinNgramLength, "max_ngram_length": d.MaxNgramLength, "prefix_only": d.PrefixOnly,
		"split_identifiers": d.SplitIdentifiers, "split_on_numerics": d.SplitOnNumerics,
		"preserve_original": d.PreserveOriginal, "index_operators": d.IndexOperators,
		"document_granularity": "row",
	}
	if d.BaseTokenizer != nil {
		details["base_tokenizer"] = *d.BaseTokenizer
	}
	var language string
	if json.Unmarshal([]byte(d.Language), &language) == nil {
		details["language"] = language
	}
	if d.BlockSize != nil {
		details["block_size"] = *d.BlockSize
	}
	if d.DocumentGranularity == 1 {
		details["document_granularity"] = "list_element"
	}
	return details
}
