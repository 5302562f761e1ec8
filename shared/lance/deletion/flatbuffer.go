package deletion

import "encoding/binary"

// A table is a flatbuffer table within a message. Every offset is checked: a field that is
// absent, or does not lie within the message, reads as zero or is not ok.
//
//	table:  i32 distance back to its vtable, then fields
//	vtable: u16 its bytes, u16 the table's bytes, u16 per field: offset in the table or 0
type table struct {
	buf    []byte
	at     int
	vtable int
	fields int
}

// rootTable returns the table to which the first four bytes of buf point: u32, the distance
// from the start of buf.
func rootTable(buf []byte) (table, bool) {
	if len(buf) < 4 {
		return table{}, false
	}
	return tableAt(buf, int64(binary.LittleEndian.Uint32(buf)))
}

func tableAt(buf []byte, at int64) (table, bool) {
	if at < 0 || at+4 > int64(len(buf)) {
		return table{}, false
	}
	vtable := at - int64(int32(binary.LittleEndian.Uint32(buf[at:])))
	if vtable < 0 || vtable+4 > int64(len(buf)) {
		return table{}, false
	}
	size := int64(binary.LittleEndian.Uint16(buf[vtable:]))
	if size < 4 || vtable+size > int64(len(buf)) {
		return table{}, false
	}
	return table{buf: buf, at: int(at), vtable: int(vtable), fields: int(size-4) / 2}, true
}

// field returns the position of the n-th field, which has size bytes. It is false if the
// field is absent.
func (t table) field(n, size int) (int, bool) {
	if n >= t.fields {
		return 0, false
	}
	offset := int(binary.LittleEndian.Uint16(t.buf[t.vtable+4+2*n:]))
	if offset == 0 || t.at+offset+size > len(t.buf) {
		return 0, false
	}
	return t.at + offset, true
}

func (t table) byte(n int) byte {
	at, ok := t.field(n, 1)
	if !ok {
		return 0
	}
	return t.buf[at]
}

func (t table) int32(n int) int32 {
	at, ok := t.field(n, 4)
	if !ok {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(t.buf[at:]))
}

func (t table) int64(n int) int64 {
	at, ok := t.field(n, 8)
	if !ok {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(t.buf[at:]))
}

// target returns the position that the offset in a field points to.
func (t table) target(n int) (int64, bool) {
	at, ok := t.field(n, 4)
	if !ok {
		return 0, false
	}
	return int64(at) + int64(binary.LittleEndian.Uint32(t.buf[at:])), true
}

func (t table) table(n int) (table, bool) {
	at, ok := t.target(n)
	if !ok {
		return table{}, false
	}
	return tableAt(t.buf, at)
}

// vector returns the elements of a vector of structs of size bytes each.
func (t table) vector(n, size int) (elements []byte, count int) {
	at, ok := t.target(n)
	if !ok || at+4 > int64(len(t.buf)) {
		return nil, 0
	}
	length := int64(binary.LittleEndian.Uint32(t.buf[at:]))
	if at+4+length*int64(size) > int64(len(t.buf)) {
		return nil, 0
	}
	return t.buf[at+4 : at+4+length*int64(size)], int(length)
}

// onlyTable returns the only table of a vector of tables.
func (t table) onlyTable(n int) (table, bool) {
	offsets, count := t.vector(n, 4)
	if count != 1 {
		return table{}, false
	}
	at, _ := t.target(n)
	return tableAt(t.buf, at+4+int64(binary.LittleEndian.Uint32(offsets)))
}

func (t table) string(n int) string {
	text, _ := t.vector(n, 1)
	return string(text)
}
