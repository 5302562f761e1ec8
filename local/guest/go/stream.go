package guest

import (
	"encoding/binary"
	"strconv"
)

// An Arrow IPC stream is a sequence of messages, here a schema and one batch:
//
//	FF FF FF FF   marker
//	i32           length of the metadata with its padding; 0 ends the stream
//	metadata      a flatbuffer Message
//	body          the buffers of the batch, at the offsets in the metadata
//
// Sources: format/Message.fbs and Schema.fbs of apache/arrow.

// readStream returns the batch of a stream. It does not copy the bytes.
func readStream(stream []byte) Batch {
	var batch Batch
	for {
		size := int(binary.LittleEndian.Uint32(stream[4:]))
		if size == 0 {
			return batch
		}
		message := rootOf(stream[8 : 8+size])
		body := stream[8+size:]
		header, _ := message.child(2)
		if message.number(1, 1) == 1 {
			fields, count := header.vector(1)
			for i := range count {
				batch.Columns = append(batch.Columns, readField(fields.follow(4*i)))
			}
		} else {
			batch.Rows = int(header.number(0, 8))
			r := reader{body: body}
			r.nodes, _ = header.vector(1)
			r.buffers, _ = header.vector(2)
			for _, c := range batch.Columns {
				r.column(c)
			}
		}
		stream = body[message.number(3, 8):]
	}
}

// readField returns a column without rows for a field of the schema.
func readField(f table) *Column {
	c := &Column{Name: f.text(0), kind: byte(f.number(2, 1))}
	typ, _ := f.child(3)
	switch c.kind {
	case kindInt:
		c.width, c.signed = int(typ.number(0, 4))/8, typ.number(1, 1) == 1
	case kindFloat:
		c.width = 2 << typ.number(0, 2)
	case kindDate:
		c.width, c.signed = 8, true
		if typ.has(0) && typ.number(0, 2) == 0 {
			c.width = 4
		}
	case kindTime:
		c.width, c.signed = 4, true
		if typ.has(1) {
			c.width = int(typ.number(1, 4)) / 8
		}
	case kindTimestamp, kindDuration:
		c.width, c.signed = 8, true
	case kindDecimal:
		c.width = 16
	case kindFixedBinary, kindFixedSizeList:
		c.width = int(typ.number(0, 4))
	case kindLargeBinary, kindLargeUtf8, kindLargeList:
		c.wide = true
	case kindBinary, kindUtf8, kindBool, kindList, kindStruct:
	default:
		panic("the column " + c.Name + " is of a type with the number " + strconv.Itoa(int(c.kind)) + ", which this package does not read")
	}
	children, count := f.vector(5)
	for i := range count {
		c.Children = append(c.Children, readField(children.follow(4*i)))
	}
	return c
}

// A reader visits the arrays of a batch in order.
type reader struct {
	body           []byte
	nodes, buffers table
	node, buffer   int
}

// column reads the arrays of a column and its children.
func (r *reader) column(c *Column) {
	c.Rows = int(binary.LittleEndian.Uint64(r.nodes.data[r.nodes.at+16*r.node:]))
	r.node++
	c.validity = r.next()
	switch c.kind {
	case kindList, kindLargeList:
		c.offsets = r.next()
	case kindUtf8, kindBinary, kindLargeUtf8, kindLargeBinary:
		c.offsets, c.values = r.next(), r.next()
	case kindStruct, kindFixedSizeList:
	default:
		c.values = r.next()
	}
	for _, child := range c.Children {
		r.column(child)
	}
}

// next returns the next buffer.
func (r *reader) next() []byte {
	at := r.buffers.at + 16*r.buffer
	r.buffer++
	begin := binary.LittleEndian.Uint64(r.buffers.data[at:])
	return r.body[begin : begin+binary.LittleEndian.Uint64(r.buffers.data[at+8:])]
}

// A field describes a column of the stream to write.
type field struct {
	name  string
	kind  uint64
	typ   []slot
	child *field
}

// empty is the parameters of a type that has none.
var empty = []slot{}

func (f *field) write(w *flatWriter) int {
	children := 0
	if f.child != nil {
		children = 1
	}
	return w.table(
		slot{size: 4, child: func() int { return w.text(f.name) }},
		slot{size: 1, value: 1}, // nullable
		slot{size: 1, value: f.kind},
		slot{size: 4, child: func() int { return w.table(f.typ...) }},
		slot{},
		slot{size: 4, child: func() int { return w.tables(children, func(int) int { return f.child.write(w) }) }},
	)
}

// A streamWriter collects the columns of a stream.
type streamWriter struct {
	fields  []field
	nodes   []byte
	buffers []byte
	body    []byte
}

// column adds a column with its first array. It appends the column's number to the name.
func (s *streamWriter) column(f field, o *output, buffers ...[]byte) {
	f.name += strconv.Itoa(len(s.fields))
	s.named(f, o, buffers...)
}

func (s *streamWriter) named(f field, o *output, buffers ...[]byte) {
	s.fields = append(s.fields, f)
	s.array(o, buffers...)
}

// array adds an array and its buffers.
func (s *streamWriter) array(o *output, buffers ...[]byte) {
	s.nodes = binary.LittleEndian.AppendUint64(s.nodes, uint64(o.rows))
	s.nodes = binary.LittleEndian.AppendUint64(s.nodes, uint64(o.nulls))
	for _, b := range append([][]byte{o.validity}, buffers...) {
		s.buffers = binary.LittleEndian.AppendUint64(s.buffers, uint64(len(s.body)))
		s.buffers = binary.LittleEndian.AppendUint64(s.buffers, uint64(len(b)))
		s.body = append(s.body, b...)
		s.body = append(s.body, make([]byte, -len(s.body)&7)...)
	}
}

// errorColumn is the last column of a reply if rows failed.
const errorColumn = "__error"

// writeStream returns the stream of a reply.
func writeStream(rows int, outputs []Output) []byte {
	var s streamWriter
	reasons := map[int]string{}
	for i, o := range outputs {
		if got := o.state().rows; got != rows {
			panic("output " + strconv.Itoa(i) + " has " + strconv.Itoa(got) + " values for " + strconv.Itoa(rows) + " rows")
		}
		o.encode(&s)
		for row, reason := range o.state().failed {
			reasons[row] = reason
		}
	}
	if len(reasons) > 0 {
		var texts Strings
		for row := range rows {
			if reason, ok := reasons[row]; ok {
				texts.Append(reason)
			} else {
				texts.Null()
			}
		}
		s.named(field{name: errorColumn, kind: kindUtf8, typ: empty}, &texts.output, append(make([]byte, 4), texts.offsets...), texts.text)
	}
	out := appendMessage(nil, 1, 0, func(w *flatWriter) int {
		return w.table(slot{}, slot{size: 4, child: func() int {
			return w.tables(len(s.fields), func(i int) int { return s.fields[i].write(w) })
		}})
	})
	out = appendMessage(out, 3, len(s.body), func(w *flatWriter) int {
		return w.table(
			slot{size: 8, value: uint64(rows)},
			slot{size: 4, child: func() int { return w.structs(s.nodes, 16) }},
			slot{size: 4, child: func() int { return w.structs(s.buffers, 16) }},
		)
	})
	out = append(out, s.body...)
	return append(out, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
}

// appendMessage appends the metadata of a message, in version 5 of the format.
func appendMessage(out []byte, kind uint64, body int, header func(w *flatWriter) int) []byte {
	w := &flatWriter{bytes: make([]byte, 4)}
	root := w.table(slot{size: 2, value: 4}, slot{size: 1, value: kind}, slot{size: 4, child: func() int { return header(w) }}, slot{size: 8, value: uint64(body)})
	binary.LittleEndian.PutUint32(w.bytes, uint32(root))
	w.pad(8, 0)
	out = binary.LittleEndian.AppendUint32(out, 0xffffffff)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(w.bytes)))
	return append(out, w.bytes...)
}
