package manifest

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A manifest file holds up to three messages, each after its length, and a footer. In
// tables of legacy data files the values of dictionaries come first:
//
//	dictionaries                   of a table of legacy data files; see package dictionary
//	[u32 length][IndexSection]     when the table has indices
//	[u32 length][Transaction]      when it is stored inline
//	[u32 length][Manifest]         ends where the footer begins
//	u64     position of the Manifest's length
//	u16     major version, 0
//	u16     minor version: 1 in old files, 2 today
//	[4]     "LANC"
//
// Numbers are little-endian. The Manifest message holds the positions of the other lengths.
// A reader fetches the end of the file, which is all of a small one: the footer leads to
// the Manifest, and that to the sections before it.
//
// Source: the writers and readers of crate lance-table, src/io/manifest.rs.
const (
	magic        = "LANC"
	minorVersion = 2
	footerLen    = 16
	lengthLen    = 4

	// maxFileLen bounds the manifests that are read.
	maxFileLen = 512 << 20
)

// Parse parses a whole manifest file. The result shares memory with file, which must not
// change. A file with another layout is [lance.ErrCorrupt].
func Parse(file []byte) (*Manifest, error) {
	whole := window{bytes: file, size: int64(len(file))}
	m, err := parseTail(file, whole.size)
	if err != nil {
		return nil, err
	}
	if err := m.takeDictionaries(whole.size, whole.part); err != nil {
		return nil, err
	}
	return m, nil
}

// parseTail parses the manifest from the last bytes of a file of the given size, which hold
// at least the Manifest message. It skips dictionaries, and sections that begin before the
// tail.
func parseTail(tail []byte, size int64) (*Manifest, error) {
	body, err := messageIn(tail, size)
	if err != nil {
		return nil, err
	}
	m, err := decode(body)
	if err != nil {
		return nil, err
	}
	m.file = int64(len(tail))
	return m, m.takeSections(windowAt(tail, size))
}

// messageIn returns the Manifest message in the last bytes of a file.
func messageIn(tail []byte, size int64) ([]byte, error) {
	start, err := messagePosition(tail, size)
	if err != nil {
		return nil, err
	}
	body, ok, err := windowAt(tail, size).section(start)
	if err != nil {
		return nil, err
	}
	if !ok || start+lengthLen+int64(len(body))+footerLen != size {
		return nil, corrupt("the message of %d bytes at %d does not end at the footer of a file of %d", len(body), start, size)
	}
	return body, nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: manifest file: %s", lance.ErrCorrupt, fmt.Sprintf(format, args...))
}

// messagePosition reads the position of the Manifest's length from the footer.
func messagePosition(tail []byte, size int64) (int64, error) {
	if len(tail) < footerLen || size > maxFileLen {
		return 0, corrupt("%d bytes, want between %d and %d", size, footerLen, maxFileLen)
	}
	footer := tail[len(tail)-footerLen:]
	if string(footer[12:]) != magic {
		return 0, corrupt("ends with %q, want %q", footer[12:], magic)
	}
	position := binary.LittleEndian.Uint64(footer)
	if major := binary.LittleEndian.Uint16(footer[8:]); major != 0 {
		return 0, fmt.Errorf("%w: manifest file of version %d", lance.ErrUnsupported, major)
	}
	if position > uint64(size-footerLen) {
		return 0, corrupt("message at %d in a file of %d bytes", position, size)
	}
	return int64(position), nil
}

// A window is a part of a file: its bytes, their position, and the size of the whole file.
type window struct {
	bytes []byte
	from  int64
	size  int64
}

// windowAt returns the window of the last bytes of a file.
func windowAt(tail []byte, size int64) window {
	return window{bytes: tail, from: size - int64(len(tail)), size: size}
}

// section returns the message after the length at position. It is false if the window
// begins after position. Sections end before the footer.
func (w window) section(position int64) ([]byte, bool, error) {
	if position < 0 || position > w.size-footerLen-lengthLen {
		return nil, false, corrupt("section at %d in a file of %d bytes", position, w.size)
	}
	if position < w.from {
		return nil, false, nil
	}
	rest := window{bytes: w.bytes[position-w.from:], from: position, size: w.size}
	length, err := rest.sectionLen()
	if err != nil {
		return nil, false, err
	}
	return rest.bytes[lengthLen : lengthLen+length : lengthLen+length], true, nil
}

// sectionLen returns the length with which the window begins.
func (w window) sectionLen() (int64, error) {
	length := int64(binary.LittleEndian.Uint32(w.bytes))
	if length > w.size-footerLen-lengthLen-w.from {
		return 0, corrupt("section of %d bytes at %d in a file of %d", length, w.from, w.size)
	}
	return length, nil
}

// takeSections takes the index section and the transaction from the window, if it holds
// them.
func (m *Manifest) takeSections(w window) error {
	if at := m.Manifest.IndexSection; at != nil {
		body, ok, err := w.section(position(*at))
		if err != nil {
			return err
		}
		if ok {
			m.IndexSection = body
		}
	}
	if at, ok := m.transactionPosition(); ok {
		// A transaction that cannot be read does not keep anyone from the version.
		if body, ok, err := w.section(at); err == nil && ok {
			m.transaction = body
		}
	}
	return nil
}

// position converts a position; a number that is too large becomes a position past any
// file.
func position(p uint64) int64 { return int64(min(p, math.MaxInt64)) }

// transactionPosition returns the position of the inline transaction. Old writers stored it under
// another field number.
func (m *Manifest) transactionPosition() (int64, bool) {
	at := m.TransactionSection
	if at == nil {
		at = m.OldTransactionSection
	}
	if at == nil {
		return 0, false
	}
	return position(*at), true
}

// decode parses the Manifest message.
func decode(body []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := m.Unmarshal(body); err != nil {
		return nil, fmt.Errorf("%w: manifest: %w", lance.ErrCorrupt, err)
	}
	var err error
	if m.Schema, err = schema.FromFields(m.Fields, m.SchemaMetadata); err != nil {
		return nil, fmt.Errorf("schema of version %d: %w", m.Version, err)
	}
	m.Fields, m.SchemaMetadata = nil, nil
	return m, m.check()
}

// Encode returns the bytes of the manifest file, with txn inline. txn may be nil, but
// native writers fail when they commit concurrently with a version that has no transaction.
// The manifest is not changed.
func (m *Manifest) Encode(txn *pb.Transaction) ([]byte, error) {
	const fragmentBytes = 150 // approximate memory of one
	e := pb.Encoder{B: make([]byte, 0, 1<<10+len(m.IndexSection)+fragmentBytes*len(m.Fragments))}
	message := m.Manifest
	message.Fields, message.SchemaMetadata = m.Schema.PB(), m.Schema.Metadata
	message.IndexSection, message.TransactionSection, message.OldTransactionSection = nil, nil, nil
	if err := m.appendDictionaries(&e, message.Fields); err != nil {
		return nil, err
	}
	if len(m.IndexSection) > 0 {
		message.IndexSection = here(&e)
		appendSection(&e, func(e *pb.Encoder) { e.Unknown(m.IndexSection) })
	}
	if txn != nil {
		message.TransactionSection = here(&e)
		appendSection(&e, txn.Marshal)
	}
	start := *here(&e)
	appendSection(&e, message.Marshal)
	e.B = binary.LittleEndian.AppendUint64(e.B, start)
	e.B = binary.LittleEndian.AppendUint16(e.B, 0)
	e.B = binary.LittleEndian.AppendUint16(e.B, minorVersion)
	e.B = append(e.B, magic...)
	if len(e.B) > maxFileLen {
		return nil, fmt.Errorf("%w: a manifest of %d bytes", lance.ErrUnsupported, len(e.B))
	}
	return e.B, nil
}

func here(e *pb.Encoder) *uint64 {
	p := uint64(len(e.B))
	return &p
}

// appendSection appends a length and the message after it.
func appendSection(e *pb.Encoder, marshal func(*pb.Encoder)) {
	start := len(e.B)
	e.B = protowire.AppendFixed32(e.B, 0)
	marshal(e)
	binary.LittleEndian.PutUint32(e.B[start:], uint32(len(e.B)-start-lengthLen))
}
