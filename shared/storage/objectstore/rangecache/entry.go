package rangecache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"tiltyard/shared/storage/objectstore"
)

// An entry is a header of 192 bytes and the bytes of the range, little-endian:
//
//	  0  [8]    "tiltRC01"
//	  8  [32]   digest of the place, the key and the range, which is also the name of the entry
//	 40  u64    xxHash64 of all other bytes
//	 48  i64    when it was read from the store, in seconds since 1970
//	 56  i64    size of the object
//	 64  i64    when the object was modified, in nanoseconds since 1970; 0: unknown
//	 72  u16    length of the ETag
//	 74  [118]  the object's ETag, followed by zeros
//	192         the bytes of the range
type entry struct {
	info objectstore.Info // of the object, without its key
	kept time.Time        // when it was read from the store
	data []byte           // the bytes of the range
}

const (
	magic       = "tiltRC01"
	nameAt      = 8
	sumAt       = 40
	restAt      = 48
	etagAt      = 74
	headerBytes = 192
	maxETag     = headerBytes - etagAt
)

// A digest names an entry.
type digest [sha256.Size]byte

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// nameOf returns the name of the entry of a range. Neither a place nor a key contains a zero byte.
func nameOf(place, key string, r objectstore.Range) digest {
	if r.Offset < 0 {
		r.Length = 0 // is ignored
	}
	return sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d+%d", place, key, r.Offset, r.Length))
}

// encode returns the bytes of an entry, or nil if it cannot be kept.
func encode(e entry, name digest) []byte {
	if len(e.data) > maxEntry || len(e.info.ETag) > maxETag || e.info.ETag == "" {
		return nil
	}
	blob := make([]byte, headerBytes, headerBytes+len(e.data))
	copy(blob, magic)
	copy(blob[nameAt:], name[:])
	binary.LittleEndian.PutUint64(blob[48:], uint64(e.kept.Unix()))
	binary.LittleEndian.PutUint64(blob[56:], uint64(e.info.Size))
	if !e.info.Modified.IsZero() {
		binary.LittleEndian.PutUint64(blob[64:], uint64(e.info.Modified.UnixNano()))
	}
	binary.LittleEndian.PutUint16(blob[72:], uint16(len(e.info.ETag)))
	copy(blob[etagAt:], e.info.ETag)
	blob = append(blob, e.data...)
	binary.LittleEndian.PutUint64(blob[sumAt:], sumOf(blob))
	return blob
}

// decode returns the entry in a blob that was found under a name. ok is false if it is not that of the range, is
// damaged or too old. Its data is a part of the blob.
func decode(blob []byte, name digest, r objectstore.Range, now time.Time) (e entry, ok bool) {
	if len(blob) < headerBytes || string(blob[:nameAt]) != magic || digest(blob[nameAt:sumAt]) != name ||
		binary.LittleEndian.Uint64(blob[sumAt:]) != sumOf(blob) {
		return entry{}, false
	}
	etagBytes := int(binary.LittleEndian.Uint16(blob[72:]))
	if etagBytes > maxETag {
		return entry{}, false
	}
	e = entry{
		info: objectstore.Info{Size: int64(binary.LittleEndian.Uint64(blob[56:])), ETag: string(blob[etagAt : etagAt+etagBytes])},
		kept: time.Unix(int64(binary.LittleEndian.Uint64(blob[48:])), 0),
		data: blob[headerBytes:],
	}
	if nanos := int64(binary.LittleEndian.Uint64(blob[64:])); nanos != 0 {
		e.info.Modified = time.Unix(0, nanos)
	}
	if age := now.Sub(e.kept); age > maxAge || age < -maxAge {
		return entry{}, false
	}
	_, length, err := r.Within(e.info.Size)
	return e, err == nil && length == int64(len(e.data))
}

// sumOf returns the checksum of a blob's bytes without the checksum itself.
func sumOf(blob []byte) uint64 {
	var sum xxhash.Digest
	sum.Reset()
	_, _ = sum.Write(blob[:sumAt])
	_, _ = sum.Write(blob[restAt:])
	return sum.Sum64()
}
