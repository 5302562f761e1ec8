package pb

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// A FileDescriptor is global buffer 0 of a data file: its schema and its number of rows.
//
// Source: protos/file.proto of the format, messages FileDescriptor and Schema.
type FileDescriptor struct {
	Fields   []*Field          // 1.1: the fields written, in pre-order
	Metadata map[string]string // 1.5: Arrow schema metadata; nil when there is none
	Length   uint64            // 2: rows
}

// Unmarshal reads an encoded FileDescriptor.
func (d *FileDescriptor) Unmarshal(b []byte) error {
	*d = FileDescriptor{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Message(d.unmarshalSchema)
		case 2:
			d.Length = s.Uint64()
		}
	}
	return s.Err()
}

func (d *FileDescriptor) unmarshalSchema(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			f := new(Field)
			s.Message(f.Unmarshal)
			d.Fields = append(d.Fields, f)
		case 5:
			ScanMapEntry(s, &d.Metadata)
		}
	}
	return s.Err()
}

// CountFields returns how many fields, and entries of metadata, there are in an encoded FileDescriptor. It takes no memory
// for them, which a reader may have to ask for.
func CountFields(b []byte) int {
	n := 0
	for s := NewScanner(b); s.Next(); {
		if s.Num == 1 && s.Type == protowire.BytesType {
			n += CountEntries(s.Bytes())
		}
	}
	return n
}

// Marshal writes the FileDescriptor.
func (d *FileDescriptor) Marshal(e *Encoder) {
	e.Message(1, func(e *Encoder) {
		for _, f := range d.Fields {
			e.Message(1, f.Marshal)
		}
		EncodeMap(e, 5, d.Metadata)
	})
	e.Uint64(2, d.Length)
}

// ColumnMetadata describes one physical column of a data file.
//
// Encodings are always an Any that is held directly in the metadata.
//
// Source: protos/file2.proto of the format.
type ColumnMetadata struct {
	Encoding      Any      // 1: the zero value when there is none
	Pages         []Page   // 2: in row order
	BufferOffsets []uint64 // 3: column-level buffers, which no writer has used so far
	BufferSizes   []uint64 // 4: as many as BufferOffsets
}

// A Page is a run of rows of one column: buffers of the file, and the encoding that
// describes them.
type Page struct {
	BufferOffsets []uint64 // 1: file positions
	BufferSizes   []uint64 // 2: as many as BufferOffsets
	Length        uint64   // 3: rows (below a fixed-size list of structs: its items)
	Encoding      Any      // 4
	Priority      uint64   // 5: number of the first row (or item) in the file
}

// Type URLs of the encodings in data files.
const (
	TypePageLayout     = "/lance.encodings21.PageLayout"  // pages of versions 2.1 and 2.2
	TypeArrayEncoding  = "/lance.encodings.ArrayEncoding" // pages of version 2.0
	TypeColumnEncoding = "/lance.encodings.ColumnEncoding"
)

// Unmarshal reads an encoded ColumnMetadata. The encodings share memory with b.
func (c *ColumnMetadata) Unmarshal(b []byte) error {
	*c = ColumnMetadata{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Message(c.Encoding.unmarshalEncoding)
		case 2:
			var p Page
			s.Message(p.unmarshal)
			c.Pages = append(c.Pages, p)
		case 3:
			s.Varints(func(v uint64) { c.BufferOffsets = append(c.BufferOffsets, v) })
		case 4:
			s.Varints(func(v uint64) { c.BufferSizes = append(c.BufferSizes, v) })
		}
	}
	if len(c.BufferOffsets) != len(c.BufferSizes) {
		s.Fail(fmt.Errorf("%w: column has %d buffer offsets and %d sizes", ErrWire, len(c.BufferOffsets), len(c.BufferSizes)))
	}
	return s.Err()
}

// CountPages returns how many pages an encoded ColumnMetadata has, and how many buffers these and the column have
// together. It takes no memory for them, which a reader may have to ask for.
func CountPages(b []byte) (pages, buffers int, err error) {
	s := NewScanner(b)
	count := func(uint64) { buffers++ }
	page := func(b []byte) error {
		s := NewScanner(b)
		for s.Next() {
			if s.Num == 2 {
				s.Varints(count)
			}
		}
		return s.Err()
	}
	for s.Next() {
		switch s.Num {
		case 2:
			pages++
			s.Message(page)
		case 4:
			s.Varints(count)
		}
	}
	return pages, buffers, s.Err()
}

// Marshal writes the ColumnMetadata.
func (c *ColumnMetadata) Marshal(e *Encoder) {
	e.Message(1, c.Encoding.marshalEncoding)
	for i := range c.Pages {
		e.Message(2, c.Pages[i].marshal)
	}
	Packed(e, 3, c.BufferOffsets)
	Packed(e, 4, c.BufferSizes)
}

func (p *Page) unmarshal(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Varints(func(v uint64) { p.BufferOffsets = append(p.BufferOffsets, v) })
		case 2:
			s.Varints(func(v uint64) { p.BufferSizes = append(p.BufferSizes, v) })
		case 3:
			p.Length = s.Uint64()
		case 4:
			s.Message(p.Encoding.unmarshalEncoding)
		case 5:
			p.Priority = s.Uint64()
		}
	}
	if len(p.BufferOffsets) != len(p.BufferSizes) {
		s.Fail(fmt.Errorf("%w: page has %d buffer offsets and %d sizes", ErrWire, len(p.BufferOffsets), len(p.BufferSizes)))
	}
	return s.Err()
}

func (p *Page) marshal(e *Encoder) {
	Packed(e, 1, p.BufferOffsets)
	Packed(e, 2, p.BufferSizes)
	e.Uint64(3, p.Length)
	e.Message(4, p.Encoding.marshalEncoding)
	e.Uint64(5, p.Priority)
}

// unmarshalEncoding reads an Encoding message: the oneof of indirect=1, direct=2 (whose
// bytes are an encoded Any) and none=3.
func (a *Any) unmarshalEncoding(b []byte) error {
	*a = Any{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Fail(fmt.Errorf("%w: encoding is stored elsewhere in the file", ErrWire))
		case 2:
			s.Message(a.unmarshalDirect)
		}
	}
	return s.Err()
}

func (a *Any) unmarshalDirect(b []byte) error {
	s := NewScanner(b)
	for s.Next() {
		if s.Num == 1 {
			s.Message(a.Unmarshal)
		}
	}
	return s.Err()
}

func (a *Any) marshalEncoding(e *Encoder) {
	if a.TypeURL == "" {
		e.Message(3, func(*Encoder) {})
		return
	}
	e.Message(2, func(e *Encoder) {
		e.Message(1, a.Marshal)
	})
}
