package arrowipc

import "encoding/binary"

// A flat is the flatbuffer of one message, read with every access checked.
//
// All positions in it come from the writer: a table has the position of its vtable, the vtable the
// positions of the fields, and a field may point anywhere. Each accessor therefore checks its bounds. The
// first violation is stored in err; afterwards every accessor returns the zero value or the default.
// Callers check err at the end, and before a loop whose count comes from the bytes.
//
// Several references may point to one table, so few bytes could describe a huge tree. Ordinary writers
// share hardly anything but vtables. All visited bytes therefore count against work, a small multiple of
// the length.
type flat struct {
	data []byte
	text string // the same bytes; names and metadata are cut from it without copies
	work int
	err  error
}

const flatWork = 4 // limit of visited bytes, as a multiple of the size of the flatbuffer

func newFlat(data []byte) *flat {
	return &flat{data: data, work: flatWork * len(data)}
}

func (f *flat) fail(format string, args ...any) {
	if f.err == nil {
		f.err = invalid(nil, "bad metadata: "+format, args...)
	}
}

// charge counts a visit of n bytes at pos, and reports whether they lie within the data.
func (f *flat) charge(pos, n int, what string) bool {
	if f.err != nil {
		return false
	}
	if pos < 0 || n < 0 || n > len(f.data) || pos > len(f.data)-n {
		f.fail("%s of %d bytes at %d lies outside its %d bytes", what, n, pos, len(f.data))
		return false
	}
	if f.work -= n; f.work < 0 {
		f.fail("it describes more than its %d bytes can hold", len(f.data))
		return false
	}
	return true
}

// target follows the unsigned offset at pos, which counts from its own position. It returns
// -1 if pos is not in the data. The caller checks the result.
func (f *flat) target(pos int) int {
	if !f.charge(pos, 4, "offset") {
		return -1
	}
	return pos + int(binary.LittleEndian.Uint32(f.data[pos:]))
}

// A table is a flatbuffer table whose extent and vtable have been checked. The zero table is absent: all
// its fields have their defaults.
type table struct {
	f      *flat
	pos    int
	size   int    // bytes of the table itself, by its vtable
	vtable []byte // u16 vtable size, u16 table size, then a u16 position per field
}

// A slot is the place of a field in a vtable: 4 for the first field, 6 for the second.
type slot int

func (f *flat) root() table { return f.table(f.target(0)) }

// table returns the table at a position, after a check of its extent and its vtable.
func (f *flat) table(pos int) table {
	if !f.charge(pos, 4, "table") {
		return table{}
	}
	vpos := pos - int(int32(binary.LittleEndian.Uint32(f.data[pos:])))
	if vpos < 0 || vpos > len(f.data)-4 {
		f.fail("vtable at %d lies outside its %d bytes", vpos, len(f.data))
		return table{}
	}
	vsize := int(binary.LittleEndian.Uint16(f.data[vpos:]))
	size := int(binary.LittleEndian.Uint16(f.data[vpos+2:]))
	if vsize < 4 || vsize%2 != 0 || vsize > len(f.data)-vpos || size < 4 {
		f.fail("vtable at %d has sizes %d and %d", vpos, vsize, size)
		return table{}
	}
	if !f.charge(pos, size, "table") {
		return table{}
	}
	return table{f: f, pos: pos, size: size, vtable: f.data[vpos : vpos+vsize]}
}

// bytes returns the size bytes of an inline field, or nil if it is absent.
func (t table) bytes(s slot, size int) []byte {
	if t.f == nil || t.f.err != nil || int(s)+2 > len(t.vtable) {
		return nil
	}
	at := int(binary.LittleEndian.Uint16(t.vtable[s:]))
	if at == 0 {
		return nil
	}
	if at < 4 || at > t.size-size {
		t.f.fail("field %d of the table at %d lies outside it", (s-4)/2, t.pos)
		return nil
	}
	return t.f.data[t.pos+at : t.pos+at+size]
}

func (t table) bool(s slot) bool {
	b := t.bytes(s, 1)
	return b != nil && b[0] != 0
}

func (t table) uint8(s slot) uint8 {
	if b := t.bytes(s, 1); b != nil {
		return b[0]
	}
	return 0
}

func (t table) int16(s slot, otherwise int16) int16 {
	if b := t.bytes(s, 2); b != nil {
		return int16(binary.LittleEndian.Uint16(b))
	}
	return otherwise
}

func (t table) int32(s slot, otherwise int32) int32 {
	if b := t.bytes(s, 4); b != nil {
		return int32(binary.LittleEndian.Uint32(b))
	}
	return otherwise
}

func (t table) int64(s slot) int64 {
	if b := t.bytes(s, 8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// follow returns the target of an offset field, or -1 if the field is absent.
func (t table) follow(s slot) int {
	if t.bytes(s, 4) == nil {
		return -1
	}
	return t.f.target(t.pos + int(binary.LittleEndian.Uint16(t.vtable[s:])))
}

// table returns a nested table. ok is false if it is absent or invalid.
func (t table) table(s slot) (_ table, ok bool) {
	pos := t.follow(s)
	if pos < 0 {
		return table{}, false
	}
	nested := t.f.table(pos)
	return nested, nested.f != nil
}

// vector returns the position of the first element of a vector and the number of elements, which is zero if
// it is absent.
func (t table) vector(s slot, elemSize int) (pos, n int) {
	pos = t.follow(s)
	if pos < 0 || !t.f.charge(pos, 4, "vector") {
		return 0, 0
	}
	count := uint64(binary.LittleEndian.Uint32(t.f.data[pos:]))
	if !t.f.charge(pos+4, int(count)*elemSize, "vector") {
		return 0, 0
	}
	return pos + 4, int(count)
}

// structs returns the bytes of a vector of structs of the given size.
func (t table) structs(s slot, size int) []byte {
	pos, n := t.vector(s, size)
	if n == 0 {
		return nil
	}
	return t.f.data[pos : pos+n*size]
}

// tables calls visit with the tables of a vector until it returns an error.
func (t table) tables(s slot, visit func(i int, elem table) error) error {
	pos, n := t.vector(s, 4)
	for i := range n {
		elem := t.f.table(t.f.target(pos + 4*i))
		if t.f.err != nil {
			return t.f.err
		}
		if err := visit(i, elem); err != nil {
			return err
		}
	}
	return nil
}

// string returns a string field without a copy for each: all are slices of one string.
func (t table) string(s slot) string {
	pos, n := t.vector(s, 1)
	if n == 0 {
		return ""
	}
	if t.f.text == "" {
		t.f.text = string(t.f.data)
	}
	return t.f.text[pos : pos+n]
}
