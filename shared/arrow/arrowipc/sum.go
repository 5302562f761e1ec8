package arrowipc

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"maps"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Sum identifies the record batches of one or more streams: it is the sum of the SHA-256 of each batch,
// modulo 2^256. It depends neither on the order of the batches nor on their division among streams. The
// hash of a batch covers its bytes in the stream, the schema and its dictionaries. Batches without rows are
// ignored.
type Sum [sha256.Size]byte

// Plus returns the sum of the batches of both.
func (s Sum) Plus(other Sum) Sum {
	var total Sum
	carry := uint64(0)
	for i := len(s) - 8; i >= 0; i -= 8 {
		var word uint64
		word, carry = bits.Add64(binary.BigEndian.Uint64(s[i:]), binary.BigEndian.Uint64(other[i:]), carry)
		binary.BigEndian.PutUint64(total[i:], word)
	}
	return total
}

// A summing reads the input of a Reader and hashes each message.
type summing struct {
	src    io.Reader
	hash   hash.Hash // of the message being read
	schema Sum
	dicts  map[int64]Sum
	total  Sum
}

// SumBatches enables [Reader.Sum] for all batches. It is called before the first Next.
func (r *Reader) SumBatches() {
	s := &summing{src: r.src, hash: sha256.New(), schema: sha256.Sum256([]byte(r.schema.String())), dicts: map[int64]Sum{}}
	r.src, r.summing = s, s
}

// Sum returns the sum of the batches that Next has returned since SumBatches.
func (r *Reader) Sum() Sum { return r.summing.total }

// Read implements io.Reader.
func (s *summing) Read(p []byte) (int, error) {
	n, err := s.src.Read(p)
	s.hash.Write(p[:n])
	return n, err
}

// begin begins a message.
func (s *summing) begin() {
	if s != nil {
		s.hash.Reset()
	}
}

// batch adds the message just read, a record batch, to the sum.
func (s *summing) batch(batch arrow.RecordBatch) {
	if s == nil || batch.NumRows() == 0 {
		return
	}
	message := s.hash.Sum(nil)
	s.hash.Reset()
	s.hash.Write(s.schema[:])
	for _, id := range slices.Sorted(maps.Keys(s.dicts)) {
		sum := s.dicts[id]
		s.hash.Write(binary.BigEndian.AppendUint64(nil, uint64(id)))
		s.hash.Write(sum[:])
	}
	s.hash.Write(message)
	s.total = s.total.Plus(Sum(s.hash.Sum(nil)))
}

// dictionary records the message just read, which sets a dictionary or, if extends is true, extends it.
func (s *summing) dictionary(id int64, extends bool) {
	if s == nil {
		return
	}
	if message := Sum(s.hash.Sum(nil)); extends {
		before := s.dicts[id]
		s.dicts[id] = sha256.Sum256(append(before[:], message[:]...))
	} else {
		s.dicts[id] = message
	}
}
