package guest

import (
	"encoding/binary"
	"slices"
)

// A table is a table of a flatbuffer, or the elements of a vector. At its position is the distance
// back to its vtable, which contains the distances from the position to the fields:
//
//	u16  bytes of the vtable
//	u16  bytes of the table
//	u16… distance of each field; 0: the field is absent
//
// The objects to which a table refers come after it, at the distances in its fields.
type table struct {
	data []byte
	at   int
}

// rootOf returns the root table of a flatbuffer.
func rootOf(data []byte) table { return table{data, 0}.follow(0) }

// follow returns the object to which the distance at t.at+after refers.
func (t table) follow(after int) table {
	at := t.at + after
	return table{t.data, at + int(binary.LittleEndian.Uint32(t.data[at:]))}
}

// field returns the distance of a field from t, or 0 if it is absent.
func (t table) field(i int) int {
	list := t.at - int(int32(binary.LittleEndian.Uint32(t.data[t.at:])))
	if 4+2*i >= int(binary.LittleEndian.Uint16(t.data[list:])) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(t.data[list+4+2*i:]))
}

func (t table) has(i int) bool { return t.field(i) != 0 }

// number returns the number of size bytes in a field, or 0 if it is absent.
func (t table) number(i, size int) int64 {
	after := t.field(i)
	if after == 0 {
		return 0
	}
	var bytes [8]byte
	copy(bytes[:size], t.data[t.at+after:])
	return int64(binary.LittleEndian.Uint64(bytes[:]))
}

// child returns the object to which a field refers; ok is false if the field is absent.
func (t table) child(i int) (table, bool) {
	after := t.field(i)
	if after == 0 {
		return table{}, false
	}
	return t.follow(after), true
}

// vector returns the elements of a vector and their number.
func (t table) vector(i int) (table, int) {
	v, ok := t.child(i)
	if !ok {
		return table{}, 0
	}
	return table{v.data, v.at + 4}, int(binary.LittleEndian.Uint32(v.data[v.at:]))
}

func (t table) text(i int) string {
	v, count := t.vector(i)
	if count == 0 {
		return ""
	}
	return string(v.data[v.at : v.at+count])
}

// A flatWriter writes a flatbuffer from front to back: a table comes before the objects to which it
// refers.
type flatWriter struct{ bytes []byte }

// A slot is a field of a table to write. It is absent if its size is 0.
type slot struct {
	size  int // bytes
	value uint64
	child func() int // writes the object of the field and returns its position
}

// pad adds zeros until the length modulo size is rest.
func (w *flatWriter) pad(size, rest int) {
	for len(w.bytes)%size != rest {
		w.bytes = append(w.bytes, 0)
	}
}

// table writes a table and its objects, and returns the position of the table.
func (w *flatWriter) table(slots ...slot) int {
	order := make([]int, 0, len(slots)) // larger fields first, so that all are aligned
	for i, s := range slots {
		if s.size > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return slots[b].size - slots[a].size })
	listBytes := 4 + 2*len(slots)
	w.pad(8, (4-listBytes)&7)
	list := len(w.bytes)
	w.bytes = append(w.bytes, make([]byte, listBytes)...)
	at := len(w.bytes)
	w.bytes = binary.LittleEndian.AppendUint32(w.bytes, uint32(at-list))
	for _, i := range order {
		binary.LittleEndian.PutUint16(w.bytes[list+4+2*i:], uint16(len(w.bytes)-at))
		w.bytes = binary.LittleEndian.AppendUint64(w.bytes, slots[i].value)[:len(w.bytes)+slots[i].size]
	}
	binary.LittleEndian.PutUint16(w.bytes[list:], uint16(listBytes))
	binary.LittleEndian.PutUint16(w.bytes[list+2:], uint16(len(w.bytes)-at))
	for _, i := range order {
		if slots[i].child != nil {
			w.refer(at+int(binary.LittleEndian.Uint16(w.bytes[list+4+2*i:])), slots[i].child())
		}
	}
	return at
}

// refer makes the field at one position refer to another one.
func (w *flatWriter) refer(at, to int) { binary.LittleEndian.PutUint32(w.bytes[at:], uint32(to-at)) }

// tables writes a vector of tables.
func (w *flatWriter) tables(count int, write func(i int) int) int {
	w.pad(4, 0)
	at := len(w.bytes)
	w.bytes = binary.LittleEndian.AppendUint32(w.bytes, uint32(count))
	w.bytes = append(w.bytes, make([]byte, 4*count)...)
	for i := range count {
		w.refer(at+4+4*i, write(i))
	}
	return at
}

// structs writes a vector of structs of size bytes, aligned to 8 bytes.
func (w *flatWriter) structs(content []byte, size int) int {
	w.pad(8, 4)
	at := len(w.bytes)
	w.bytes = binary.LittleEndian.AppendUint32(w.bytes, uint32(len(content)/size))
	w.bytes = append(w.bytes, content...)
	return at
}

func (w *flatWriter) text(s string) int {
	w.pad(4, 0)
	at := len(w.bytes)
	w.bytes = binary.LittleEndian.AppendUint32(w.bytes, uint32(len(s)))
	w.bytes = append(append(w.bytes, s...), 0)
	return at
}
