package pb

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// UpdateMode says how an Update changed rows.
type UpdateMode int32

// Modes of updates.
const (
	RewriteRows    UpdateMode = 0 // changed rows are deleted and written to new fragments
	RewriteColumns UpdateMode = 1 // changed columns of a fragment are written to new files
)

// Update changes rows, as update and merge-insert do. Offsets in the form before field
// 10 are Unknown.
type Update struct {
	RemovedFragmentIDs []uint64    // 1
	UpdatedFragments   []*Fragment // 2: with new deletion files or data files
	NewFragments       []*Fragment // 3
	FieldsModified     []uint32    // 4
	CompactedSSTables  [][]byte    // 5: CompactedSsTable messages, not interpreted
	// FieldsForPreservingFragBitmap are fields whose indices cover the new fragments.
	FieldsForPreservingFragBitmap []uint32            // 6
	Mode                          UpdateMode          // 7
	InsertedRows                  *KeyExistenceFilter // 8
	UpdatedOffsets                map[uint64][]byte   // 10: portable roaring bitmaps by fragment id
	Unknown                       []byte
}

// OperationName returns "Update".
func (*Update) OperationName() string    { return "Update" }
func (*Update) number() protowire.Number { return 108 }

// Unmarshal reads an encoded Update. It keeps parts of b.
func (o *Update) Unmarshal(b []byte) error {
	*o = Update{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Varints(func(v uint64) { o.RemovedFragmentIDs = append(o.RemovedFragmentIDs, v) })
		case 2:
			pointers(s, &o.UpdatedFragments)
		case 3:
			pointers(s, &o.NewFragments)
		case 4:
			s.Varints(func(v uint64) { o.FieldsModified = append(o.FieldsModified, uint32(v)) })
		case 5:
			o.CompactedSSTables = append(o.CompactedSSTables, s.Bytes())
		case 6:
			s.Varints(func(v uint64) {
				o.FieldsForPreservingFragBitmap = append(o.FieldsForPreservingFragBitmap, uint32(v))
			})
		case 7:
			o.Mode = UpdateMode(s.Int32())
		case 8:
			o.InsertedRows = new(KeyExistenceFilter)
			s.Message(o.InsertedRows.Unmarshal)
		case 10:
			o.scanOffsets(s)
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

func (o *Update) scanOffsets(s *Scanner) {
	s.Message(func(b []byte) error {
		var id uint64
		var bitmap []byte
		entry := NewScanner(b)
		for entry.Next() {
			switch entry.Num {
			case 1:
				id = entry.Uint64()
			case 2:
				bitmap = entry.Bytes()
			}
		}
		if o.UpdatedOffsets == nil {
			o.UpdatedOffsets = map[uint64][]byte{}
		}
		o.UpdatedOffsets[id] = bitmap
		return entry.Err()
	})
}

// Marshal writes the Update.
func (o *Update) Marshal(e *Encoder) {
	Packed(e, 1, o.RemovedFragmentIDs)
	fragments(e, 2, o.UpdatedFragments)
	fragments(e, 3, o.NewFragments)
	Packed(e, 4, o.FieldsModified)
	for _, raw := range o.CompactedSSTables {
		e.AlwaysBytes(5, raw)
	}
	Packed(e, 6, o.FieldsForPreservingFragBitmap)
	e.Int32(7, int32(o.Mode))
	if o.InsertedRows != nil {
		e.Message(8, o.InsertedRows.Marshal)
	}
	for _, id := range slices.Sorted(maps.Keys(o.UpdatedOffsets)) {
		e.Message(10, func(e *Encoder) {
			e.Uint64(1, id)
			e.Bytes(2, o.UpdatedOffsets[id])
		})
	}
	e.Unknown(o.Unknown)
}

// KeyExistenceFilter says which primary keys a merge-insert has inserted, exactly or by
// a bloom filter. Both are nil in one that says nothing.
type KeyExistenceFilter struct {
	FieldIDs []int32      // 1
	Exact    *KeyHashes   // 2
	Bloom    *BloomFilter // 3
	Unknown  []byte
}

// KeyHashes is a set of hashes of keys.
type KeyHashes struct {
	Hashes []uint64 // 1
}

// BloomFilter is a split block bloom filter over keys.
type BloomFilter struct {
	Bitmap        []byte  // 1
	NumBits       uint32  // 2
	NumberOfItems uint64  // 3: what it was sized for
	Probability   float64 // 4: what it was sized for
}

// Unmarshal reads an encoded KeyExistenceFilter. It keeps parts of b.
func (k *KeyExistenceFilter) Unmarshal(b []byte) error {
	*k = KeyExistenceFilter{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Varints(func(v uint64) { k.FieldIDs = append(k.FieldIDs, int32(v)) })
		case 2:
			k.Exact, k.Bloom = new(KeyHashes), nil
			s.Message(k.Exact.Unmarshal)
		case 3:
			k.Exact, k.Bloom = nil, new(BloomFilter)
			s.Message(k.Bloom.Unmarshal)
		default:
			k.Unknown = append(k.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the KeyExistenceFilter.
func (k *KeyExistenceFilter) Marshal(e *Encoder) {
	Packed(e, 1, k.FieldIDs)
	if k.Exact != nil {
		e.Message(2, k.Exact.Marshal)
	}
	if k.Bloom != nil {
		e.Message(3, k.Bloom.Marshal)
	}
	e.Unknown(k.Unknown)
}

// Unmarshal reads an encoded KeyHashes.
func (k *KeyHashes) Unmarshal(b []byte) error {
	*k = KeyHashes{}
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			s.Varints(func(v uint64) { k.Hashes = append(k.Hashes, v) })
		}
	}
	return s.Err()
}

// Marshal writes the KeyHashes.
func (k *KeyHashes) Marshal(e *Encoder) { Packed(e, 1, k.Hashes) }

// Unmarshal reads an encoded BloomFilter. It keeps parts of b.
func (f *BloomFilter) Unmarshal(b []byte) error {
	*f = BloomFilter{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			f.Bitmap = s.Bytes()
		case 2:
			f.NumBits = s.Uint32()
		case 3:
			f.NumberOfItems = s.Uint64()
		case 4:
			f.Probability = s.Float64()
		}
	}
	return s.Err()
}

// Marshal writes the BloomFilter.
func (f *BloomFilter) Marshal(e *Encoder) {
	e.Bytes(1, f.Bitmap)
	e.Uint64(2, uint64(f.NumBits))
	e.Uint64(3, f.NumberOfItems)
	if f.Probability != 0 {
		e.B = protowire.AppendTag(e.B, 4, protowire.Fixed64Type)
		e.B = protowire.AppendFixed64(e.B, math.Float64bits(f.Probability))
	}
}
