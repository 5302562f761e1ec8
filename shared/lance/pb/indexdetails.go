package pb

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// VectorIndexDetails are the parameters in the manifest's entry of a vector index. Entries
// older than this message have none.
//
// Source: protos/index.proto of the format, message VectorIndexDetails.
type VectorIndexDetails struct {
	Metric              VectorMetric      // 1
	TargetPartitionSize uint64            // 2: 0 is not set
	HNSW                *HNSWDetails      // 3: nil is no graph within the partitions
	Compression         VectorCompression // 4 to 8: how vectors are stored
	NumBits             uint32            // of a compressed component
	NumSubVectors       uint32            // of product quantization
	RotationMatrix      bool              // of RaBitQ: rotated by a matrix, not the fast way
	RuntimeHints        map[string]string // 9: how it was built
}

// VectorMetric is the distance that an index was built for.
type VectorMetric uint32

// The metrics, by their numbers in the format.
const (
	VectorL2 VectorMetric = iota
	VectorCosine
	VectorDot
	VectorHamming
)

// VectorCompression is the number of the field of VectorIndexDetails that is set. It
// determines how an index stores vectors.
type VectorCompression uint32

// The compressions, by their field numbers. An index with none of them stores vectors as they are.
const (
	CompressionNone VectorCompression = 0
	CompressionPQ   VectorCompression = 4
	CompressionSQ   VectorCompression = 5
	CompressionRQ   VectorCompression = 6
	CompressionFlat VectorCompression = 8
)

// HNSWDetails are the parameters of a graph.
//
//pb:message read
type HNSWDetails struct {
	MaxConnections    uint32 `pb:"1"`
	ConstructionDepth uint32 `pb:"2"` // candidates while it was built
	MaxLevel          uint32 `pb:"3"`
}

// Unmarshal reads an encoded VectorIndexDetails.
func (d *VectorIndexDetails) Unmarshal(b []byte) error {
	*d = VectorIndexDetails{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			d.Metric = VectorMetric(s.Uint32())
		case 2:
			d.TargetPartitionSize = s.Uint64()
		case 3:
			d.HNSW = new(HNSWDetails)
			s.Message(d.HNSW.Unmarshal)
		case 4, 5, 6, 8:
			d.Compression = VectorCompression(s.Num)
			s.Message(d.unmarshalCompression)
		case 9:
			ScanMapEntry(s, &d.RuntimeHints)
		}
	}
	return s.Err()
}

// Marshal writes the message.
func (d *VectorIndexDetails) Marshal(e *Encoder) {
	e.Uint64(1, uint64(d.Metric))
	e.Uint64(2, d.TargetPartitionSize)
	if h := d.HNSW; h != nil {
		e.Message(3, func(e *Encoder) {
			e.Uint64(1, uint64(h.MaxConnections))
			e.Uint64(2, uint64(h.ConstructionDepth))
			e.Uint64(3, uint64(h.MaxLevel))
		})
	}
	if d.Compression != CompressionNone {
		e.Message(protowire.Number(d.Compression), func(e *Encoder) {
			e.Uint64(1, uint64(d.NumBits))
			e.Uint64(2, uint64(d.NumSubVectors))
			if d.RotationMatrix {
				e.Uint64(2, 1)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(d.RuntimeHints)) {
		e.Message(9, func(e *Encoder) {
			e.String(1, name)
			e.String(2, d.RuntimeHints[name])
		})
	}
}

// unmarshalCompression reads the message of the compression that is set. Field 1 is the
// number of bits in all of these messages.
func (d *VectorIndexDetails) unmarshalCompression(b []byte) error {
	d.NumBits, d.NumSubVectors, d.RotationMatrix = 0, 0, false
	s := NewScanner(b)
	for s.Next() {
		switch {
		case s.Num == 1:
			d.NumBits = s.Uint32()
		case s.Num == 2 && d.Compression == CompressionPQ:
			d.NumSubVectors = s.Uint32()
		case s.Num == 2 && d.Compression == CompressionRQ:
			d.RotationMatrix = s.Uint32() == 1
		}
	}
	return s.Err()
}

// InvertedIndexDetails are the parameters in the manifest's entry of a full-text index: how
// it makes tokens of texts.
//
// Source: protos/index_old.proto of the format, message InvertedIndexDetails.
type InvertedIndexDetails struct {
	BaseTokenizer       *string // 1
	Language            string  // 2: a JSON string, with its quotes
	WithPosition        bool    // 3
	MaxTokenLength      *uint32 // 4: nil is no limit
	LowerCase           bool    // 5
	Stem                bool    // 6
	RemoveStopWords     bool    // 7
	ASCIIFolding        bool    // 8
	MinNgramLength      uint32  // 9
	MaxNgramLength      uint32  // 10
	PrefixOnly          bool    // 11
	BlockSize           *uint32 // 12
	Code                bool    // 13: is there, for tokens of program text
	SplitIdentifiers    bool    // 13.1
	SplitOnNumerics     bool    // 13.2
	PreserveOriginal    bool    // 13.3
	IndexOperators      bool    // 13.4
	DocumentGranularity uint32  // 14: 0 is a row, 1 an element of a list
	FormatVersion       *uint32 // 15: of the posting lists
}

// Unmarshal reads an encoded InvertedIndexDetails.
func (d *InvertedIndexDetails) Unmarshal(b []byte) error {
	*d = InvertedIndexDetails{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			d.BaseTokenizer = ptr(s.String())
		case 2:
			d.Language = s.String()
		case 3:
			d.WithPosition = s.Bool()
		case 4:
			d.MaxTokenLength = ptr(s.Uint32())
		case 5:
			d.LowerCase = s.Bool()
		case 6:
			d.Stem = s.Bool()
		case 7:
			d.RemoveStopWords = s.Bool()
		case 8:
			d.ASCIIFolding = s.Bool()
		case 9:
			d.MinNgramLength = s.Uint32()
		case 10:
			d.MaxNgramLength = s.Uint32()
		case 11:
			d.PrefixOnly = s.Bool()
		case 12:
			d.BlockSize = ptr(s.Uint32())
		case 13:
			d.Code = true
			s.Message(d.unmarshalCode)
		case 14:
			d.DocumentGranularity = s.Uint32()
		case 15:
			d.FormatVersion = ptr(s.Uint32())
		}
	}
	return s.Err()
}

// unmarshalCode reads the parameters for tokens of program text.
func (d *InvertedIndexDetails) unmarshalCode(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			d.SplitIdentifiers = s.Bool()
		case 2:
			d.SplitOnNumerics = s.Bool()
		case 3:
			d.PreserveOriginal = s.Bool()
		case 4:
			d.IndexOperators = s.Bool()
		}
	}
	return s.Err()
}

// Marshal encodes the details.
func (d *InvertedIndexDetails) Marshal(e *Encoder) {
	if d.BaseTokenizer != nil {
		e.AlwaysString(1, *d.BaseTokenizer)
	}
	e.String(2, d.Language)
	e.Bool(3, d.WithPosition)
	e.optionalUint32(4, d.MaxTokenLength)
	e.Bool(5, d.LowerCase)
	e.Bool(6, d.Stem)
	e.Bool(7, d.RemoveStopWords)
	e.Bool(8, d.ASCIIFolding)
	e.Uint64(9, uint64(d.MinNgramLength))
	e.Uint64(10, uint64(d.MaxNgramLength))
	e.Bool(11, d.PrefixOnly)
	e.optionalUint32(12, d.BlockSize)
	if d.Code {
		e.Message(13, d.marshalCode)
	}
	e.Uint64(14, uint64(d.DocumentGranularity))
	e.optionalUint32(15, d.FormatVersion)
}

// marshalCode writes also parameters that are not set: native Lance takes their absence for true.
func (d *InvertedIndexDetails) marshalCode(e *Encoder) {
	for i, set := range []bool{d.SplitIdentifiers, d.SplitOnNumerics, d.PreserveOriginal, d.IndexOperators} {
		e.AlwaysUint64(protowire.Number(i+1), protowire.EncodeBool(set))
	}
}

func (e *Encoder) optionalUint32(num protowire.Number, v *uint32) {
	if v != nil {
		e.AlwaysUint64(num, uint64(*v))
	}
}

// ZoneMapIndexDetails are the parameters in the manifest's entry of an index of zones. It writes that
// data files have no statistics for the index.
//
// Source: protos/index_old.proto of the format, message ZoneMapIndexDetails.
type ZoneMapIndexDetails struct {
	RowsPerZone   uint64 // 1
	HasNullBitmap bool   // 3: the file of the index has the rows that are NULL
}

// Marshal encodes the details.
func (d *ZoneMapIndexDetails) Marshal(e *Encoder) {
	e.AlwaysUint64(1, d.RowsPerZone)
	e.AlwaysUint64(2, 0)
	e.AlwaysUint64(3, protowire.EncodeBool(d.HasNullBitmap))
}

// MemWALDetails are the details of the entry __lance_mem_wal: how native writers divide the rows of a
// write-ahead log beside the table. What the log holds is in files of its own, below _mem_wal.
//
// Source: protos/table.proto of the format, message MemWalIndexDetails.
//
//pb:message
type MemWALDetails struct {
	Sharding       []ShardingSpec    `pb:"7"` // the first is used
	Maintained     []string          `pb:"8"` // indices that the log has, too
	WriterDefaults map[string]string `pb:"11"`
	MaintainAll    bool              `pb:"12"` // then Maintained has no meaning
	Unknown        []byte
}

// ShardingSpec is how rows are divided into shards. Without fields, there is one shard.
//
//pb:message
type ShardingSpec struct {
	ID      uint32          `pb:"1"`
	Fields  []ShardingField `pb:"2"`
	Unknown []byte
}

// ShardingField is a function of columns whose values divide rows.
//
//pb:message
type ShardingField struct {
	ID         string            `pb:"1"`
	Sources    []int32           `pb:"2"` // ids of fields
	Transform  string            `pb:"3"` // identity, bucket …
	Expression string            `pb:"4"` // in place of a transform
	Parameters map[string]string `pb:"6"` // num_buckets of bucket
	Unknown    []byte
}
