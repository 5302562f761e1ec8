package arrowipc

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Fields of the flatbuffer table RecordBatch. The arrays of all fields, including nested ones, are listed
// depth first, a parent before its children:
//
//	nodes     per array: i64 length, i64 null count
//	buffers   per buffer of each array: i64 offset in the body, i64 length
//	variadic  per array of views: i64 number of its data buffers
//
// The type of an array determines the number of its buffers (see layout), which the message does not
// record. Dictionary-encoded arrays appear as their indices.
const (
	batchLength         slot = 4
	batchNodes          slot = 6
	batchBuffers        slot = 8
	batchCompression    slot = 10
	batchVariadicCounts slot = 12
)

const (
	alignment = 8 // of every buffer in memory, so that it can be seen as a typed slice
	viewWidth = 16
)

// A decoder builds the arrays of one record batch. It consumes nodes and buffers in the
// order of the fields of the schema, depth first.
type decoder struct {
	reader   *Reader
	rows     int64
	body     []byte
	nodes    []byte
	buffers  []byte
	variadic []byte
	codec    codec
	unread   int64 // bytes of the body that no buffer has referred to yet
	budget   int64 // bytes that decoding may still use
	used     int64 // bytes that the arrays keep alive
	aliased  bool  // an array refers to the body, which is counted in used
	longest  int64 // length of the longest array
	absent   bool  // without a message: all arrays are empty
}

// decoder reads the body of m and prepares to decode its record batch t.
func (r *Reader) decoder(m message, t table) (*decoder, error) {
	d := &decoder{
		reader:   r,
		rows:     t.int64(batchLength),
		nodes:    t.structs(batchNodes, 16),
		buffers:  t.structs(batchBuffers, 16),
		variadic: t.structs(batchVariadicCounts, 8),
		unread:   m.body,
		budget:   r.limits.MaxDecodedBytes - r.dictBytes,
	}
	var err error
	if d.codec, err = readCodec(t); err != nil {
		return nil, err
	}
	if m.meta.err != nil {
		return nil, m.meta.err
	}
	if err := d.charge(nil, m.body); err != nil {
		return nil, err
	}
	d.body, err = r.read(m.body)
	return d, err
}

// charge deducts size bytes from the budget of the batch. n is the field for an error, or nil.
func (d *decoder) charge(n *node, size int64) error {
	if size > d.budget {
		return tooLarge(n, "the batch takes more than %d bytes of memory, send smaller batches",
			d.reader.limits.MaxDecodedBytes)
	}
	d.budget -= size
	return nil
}

// take charges size bytes that are about to be allocated, and reserves them in the memory share of the
// stream.
func (d *decoder) take(n *node, size int64) error {
	if err := d.charge(n, size); err != nil {
		return err
	}
	return d.reader.take(size)
}

// finish checks that the message held exactly the arrays of the schema, and that its rows
// are not too many for its bytes.
func (d *decoder) finish() error {
	if len(d.nodes) != 0 || len(d.buffers) != 0 || len(d.variadic) != 0 {
		return invalid(nil, "%d arrays and %d buffers more than the schema has", len(d.nodes)/16, len(d.buffers)/16)
	}
	if excess := d.longest - 8*d.used; excess > 0 {
		if d.reader.unbacked -= excess; d.reader.unbacked < 0 {
			return tooLarge(nil, "the stream has more than %d values that take no bytes", maxUnbackedRows)
		}
	}
	return nil
}

// column decodes a column of the batch, which must have the length of the batch.
func (d *decoder) column(n *node) (arrow.ArrayData, error) {
	if len(d.nodes) >= 16 {
		if length := int64(binary.LittleEndian.Uint64(d.nodes)); length != d.rows {
			return nil, invalid(n, "%d values in a batch of %d rows", length, d.rows)
		}
	}
	return d.array(n, d.rows)
}

// array decodes the first length values of the array of n.
func (d *decoder) array(n *node, length int64) (arrow.ArrayData, error) {
	claimed, err := d.next(n, length)
	if err != nil {
		return nil, err
	}
	if n.layout == layoutNull {
		return array.NewData(n.dtype, int(length), []*memory.Buffer{nil}, nil, int(length), 0), nil
	}
	valid, nulls, err := d.validity(n, length, claimed)
	if err != nil {
		return nil, err
	}
	a := &arrayParts{node: n, length: length, valid: valid, nulls: nulls, buffers: []*memory.Buffer{nil}}
	if valid != nil {
		a.buffers[0] = memory.NewBufferBytes(valid)
	}
	if err := d.values(a); err != nil {
		return nil, err
	}
	return a.data(), nil
}

// arrayParts are the parts of an array that is being built.
type arrayParts struct {
	*node
	length     int64
	valid      []byte // nil if there are no nulls
	nulls      int
	buffers    []*memory.Buffer
	childData  []arrow.ArrayData
	dictionary *array.Data
}

func (a *arrayParts) add(buf []byte) { a.buffers = append(a.buffers, memory.NewBufferBytes(buf)) }

func (a *arrayParts) isNull(i int) bool { return a.valid != nil && !bitutil.BitIsSet(a.valid, i) }

func (a *arrayParts) data() arrow.ArrayData {
	if a.dictionary != nil {
		return array.NewDataWithDictionary(a.dtype, int(a.length), a.buffers, a.nulls, 0, a.dictionary)
	}
	return array.NewData(a.dtype, int(a.length), a.buffers, a.childData, a.nulls, 0)
}

// values decodes all of an array except its validity, by its layout.
func (d *decoder) values(a *arrayParts) error {
	switch a.layout {
	case layoutBool:
		return d.fixed(a, (a.length+7)/8)
	case layoutFixed:
		size, err := product(a.node, a.length, a.width)
		if err != nil {
			return err
		}
		return d.fixed(a, size)
	case layoutBinary:
		return d.binary(a)
	case layoutView:
		return d.views(a)
	case layoutList, layoutMap:
		return d.list(a)
	case layoutFixedList:
		length, err := product(a.node, a.length, a.width)
		if err != nil {
			return err
		}
		return d.child(a, a.children[0], length)
	case layoutStruct:
		for _, child := range a.children {
			if err := d.child(a, child, a.length); err != nil {
				return err
			}
		}
		return nil
	case layoutDictionary:
		return d.indices(a)
	}
	return unsupported(a.node, "type %s", a.dtype)
}

// next consumes the FieldNode of n and returns its null count. The node may be longer than length, for
// example in the children of a sliced struct; additional values are ignored.
func (d *decoder) next(n *node, length int64) (nulls int64, err error) {
	if d.absent {
		return 0, nil
	}
	if len(d.nodes) < 16 {
		return 0, invalid(n, "the message has no array for it")
	}
	has := int64(binary.LittleEndian.Uint64(d.nodes))
	nulls = int64(binary.LittleEndian.Uint64(d.nodes[8:]))
	d.nodes = d.nodes[16:]
	switch {
	case has < 0 || has > maxLength || nulls < 0 || nulls > has:
		return 0, invalid(n, "array of length %d with %d nulls", has, nulls)
	case length < 0 || has < length:
		return 0, invalid(n, "array of length %d where %d are needed", has, length)
	}
	d.longest = max(d.longest, length)
	return nulls, nil
}

// validity consumes the validity bitmap of n. It counts the nulls, and returns nil if there
// are none. The count in the message only shows whether a bitmap is missing.
func (d *decoder) validity(n *node, length, claimed int64) ([]byte, int, error) {
	bitmap, err := d.buffer(n, 0)
	if err != nil {
		return nil, 0, err
	}
	if len(bitmap) == 0 {
		if claimed > 0 {
			err = invalid(n, "%d nulls without a validity bitmap", claimed)
		}
		return nil, 0, err
	}
	if int64(len(bitmap)) < (length+7)/8 {
		return nil, 0, invalid(n, "validity bitmap of %d bytes for %d values", len(bitmap), length)
	}
	nulls := int(length) - bitutil.CountSetBits(bitmap, 0, int(length))
	if nulls == 0 {
		return nil, 0, nil
	}
	return bitmap[:(length+7)/8], nulls, nil
}

// buffer consumes the next buffer, decompresses it and returns it aligned in memory. The
// buffer must have at least need bytes.
func (d *decoder) buffer(n *node, need int64) ([]byte, error) {
	if d.absent {
		return make([]byte, need), nil
	}
	if len(d.buffers) < 16 {
		return nil, invalid(n, "the message has no buffer for it")
	}
	offset, length := int64(binary.LittleEndian.Uint64(d.buffers)), int64(binary.LittleEndian.Uint64(d.buffers[8:]))
	d.buffers = d.buffers[16:]
	size := int64(len(d.body))
	if length < 0 || offset < 0 || length > size || offset > size-length {
		return nil, invalid(n, "buffer of %d bytes at %d in a body of %d", length, offset, size)
	}
	// Overlapping buffers could make a small body cost as much work as a large one.
	if d.unread -= length; d.unread < 0 {
		return nil, invalid(n, "the buffers overlap")
	}
	buf, err := d.content(n, d.body[offset:offset+length:offset+length])
	if err != nil {
		return nil, err
	}
	if int64(len(buf)) < need {
		return nil, invalid(n, "buffer of %d bytes where %d are needed", len(buf), need)
	}
	return d.aligned(n, buf)
}

// alias records that an array refers to bytes of the body, and so keeps all of it alive.
func (d *decoder) alias() {
	if !d.aliased {
		d.used += int64(len(d.body))
	}
	d.aliased = true
}

// aligned returns buf, or a copy of it if it is not aligned.
func (d *decoder) aligned(n *node, buf []byte) ([]byte, error) {
	if uintptr(unsafe.Pointer(unsafe.SliceData(buf)))%alignment == 0 {
		return buf, nil
	}
	return d.copied(n, buf)
}

// copied returns a copy of buf that may be changed.
func (d *decoder) copied(n *node, buf []byte) ([]byte, error) {
	size := int64(len(buf))
	if err := d.take(n, size); err != nil {
		return nil, err
	}
	d.used += size
	// Allocations of a few odd bytes are not aligned; multiples of 8 are.
	c := make([]byte, (size+alignment-1)&^(alignment-1))
	return c[:copy(c, buf)], nil
}

// product returns length times width, both not negative, or an error if the product is too
// large.
func product(n *node, length, width int64) (int64, error) {
	high, low := bits.Mul64(uint64(length), uint64(width))
	if high != 0 || low > maxLength {
		return 0, tooLarge(n, "%d values of %d each", length, width)
	}
	return int64(low), nil
}
