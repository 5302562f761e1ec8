package pb

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// UpdateMode is the way in which an Update changed rows.
type UpdateMode int32

// Modes of updates.
const (
	RewriteRows    UpdateMode = 0 // changed rows are deleted and written to new fragments
	RewriteColumns UpdateMode = 1 // changed columns of a fragment are written to new files
)

// Update changes rows, as update and merge-insert do. Offsets in the form before field
// 10 are Unknown.
//
//pb:operation 108
type Update struct {
	RemovedFragmentIDs []uint64    `pb:"1"`
	UpdatedFragments   []*Fragment `pb:"2"` // with new deletion files or data files
	NewFragments       []*Fragment `pb:"3"`
	FieldsModified     []uint32    `pb:"4"`
	CompactedSSTables  [][]byte    `pb:"5"` // CompactedSsTable messages, not interpreted
	// FieldsForPreservingFragBitmap are fields whose indices cover the new fragments.
	FieldsForPreservingFragBitmap []uint32            `pb:"6"`
	Mode                          UpdateMode          `pb:"7"`
	InsertedRows                  *KeyExistenceFilter `pb:"8"`
	UpdatedOffsets                map[uint64][]byte   `pb:"10"` // portable roaring bitmaps by fragment id
	Unknown                       []byte
}

// scanBytesByNumber reads the current field as an entry of a map<uint64, bytes>.
func scanBytesByNumber(s *Scanner, m *map[uint64][]byte) {
	s.Message(func(b []byte) error {
		var number uint64
		var value []byte
		entry := NewScanner(b)
		for entry.Next() {
			switch entry.Num {
			case 1:
				number = entry.Uint64()
			case 2:
				value = entry.Bytes()
			}
		}
		if *m == nil {
			*m = map[uint64][]byte{}
		}
		(*m)[number] = value
		return entry.Err()
	})
}

// encodeBytesByNumber writes a map<uint64, bytes> in the order of its keys.
func encodeBytesByNumber(e *Encoder, num protowire.Number, m map[uint64][]byte) {
	for _, number := range slices.Sorted(maps.Keys(m)) {
		e.Message(num, func(e *Encoder) {
			e.Uint64(1, number)
			e.Bytes(2, m[number])
		})
	}
}

// KeyExistenceFilter is the set of primary keys that a merge-insert has inserted, either
// exact or as a bloom filter. Without either, the keys are not known.
//
//pb:message
type KeyExistenceFilter struct {
	FieldIDs []int32      `pb:"1"`
	Exact    *KeyHashes   `pb:"2,oneof"`
	Bloom    *BloomFilter `pb:"3,oneof"`
	Unknown  []byte
}

// KeyHashes is a set of hashes of keys.
//
//pb:message
type KeyHashes struct {
	Hashes []uint64 `pb:"1"`
}

// BloomFilter is a split block bloom filter over keys.
//
//pb:message
type BloomFilter struct {
	Bitmap        []byte  `pb:"1"`
	NumBits       uint32  `pb:"2"`
	NumberOfItems uint64  `pb:"3"` // what it was sized for
	Probability   float64 `pb:"4"` // what it was sized for
}
