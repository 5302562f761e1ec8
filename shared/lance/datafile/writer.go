package datafile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/version20"
	"tiltyard/shared/lance/internal/encoding/write"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A Writer writes one data file:
//
//	pages               their buffers, each at a multiple of 64; between them blobs,
//	                    each at such a multiple, too; and global buffers that the caller
//	                    adds, likewise
//	file descriptor     the schema and the number of rows, at a multiple of 64;
//	                    this is global buffer 0, also where the caller adds others
//	column metadata     for each column: its pages, where their buffers are
//	tables              u64 position, u64 size of each column's metadata,
//	                    then of each global buffer
//	footer              see footerBytes
//
// Rows wait in memory until there are enough for a page: about 8 MiB of a column, or 32 MiB of
// texts, which a dictionary may make smaller. Columns are encoded concurrently where that is worth
// it, and pages are written as they fill up, those of one batch in the order of the columns. A
// Writer is for one goroutine. After an error nothing more can be written.
//
// Source: protos/file2.proto of the format.
type Writer struct {
	out     io.Writer
	size    int64 // bytes written
	schema  *schema.Schema
	version lance.Version
	columns []*columnWriter
	blobs   blobWriter
	globals []byte // entries of the table of global buffers, from number 1 on
	alone   bool   // columns are encoded one after another
	rows    int64
	err     error // the first error, returned by all later calls
}

// A columnWriter collects the pages of one leaf of the schema, or in version 2.0 of any field.
type columnWriter struct {
	field   *schema.Field
	top     int // position of its top-level field
	encoder columnEncoder
	meta    pb.ColumnMetadata
}

// A columnEncoder makes the pages of a column.
type columnEncoder interface {
	Append(arr arrow.Array, emit func(encoding.Page) error) error
	Flush(emit func(encoding.Page) error) error
	Size() int
	Footprint() int
	Trim()
}

// newColumnWriter returns the encoder of one physical column for a format version.
func newColumnWriter(path columnPath, v lance.Version) (*columnWriter, error) {
	c := &columnWriter{field: path.field}
	err := path.err
	switch {
	case err != nil:
	case v == lance.V2_0:
		c.encoder, err = version20.NewColumnEncoder(path.Path)
	default:
		c.encoder, err = write.NewColumnEncoder(path.Path, v)
	}
	return c, err
}

// A Summary provides a data file's manifest entry.
type Summary struct {
	Rows          int64
	Size          int64   // in bytes
	Fields        []int32 // ids of the fields that are columns: the leaves, in 2.0 all
	ColumnIndices []int32 // the column of each
}

// NewWriter begins a data file of version 2.0, 2.1 or 2.2 with the fields of sch. A type that the
// format, or that version, cannot hold is [lance.ErrUnsupported], and the error names its field.
// The writer keeps sch, whose metadata the file gets when it is closed.
func NewWriter(out io.Writer, sch *schema.Schema, v lance.Version) (*Writer, error) {
	return NewBlobWriter(out, sch, v, BlobPlaces{})
}

// NewBlobWriter returns a Writer that may store blobs outside of the file.
func NewBlobWriter(out io.Writer, sch *schema.Schema, v lance.Version, places BlobPlaces) (*Writer, error) {
	w := &Writer{out: out, schema: sch, version: v}
	w.blobs = blobWriter{file: w, places: places}
	for field := range sch.All() {
		// In arrow-go, slicing an array of type null writes to shared memory.
		w.alone = w.alone || field.LogicalType == "null"
	}
	for i, field := range sch.Fields {
		for path := range columnPaths(field, v) {
			c, err := newColumnWriter(path, v)
			if err != nil {
				return nil, err
			}
			c.top = i
			w.columns = append(w.columns, c)
		}
	}
	if len(w.columns) == 0 {
		return nil, fmt.Errorf("%w: a data file without columns", lance.ErrUnsupported)
	}
	return w, nil
}

// Write adds the rows of rec. Its columns are matched with the schema's fields by position and
// type, not by name. The writer may refer to rec's memory until the next Write or Close, so it must
// not change.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	w.err = w.write(rec)
	return w.err
}

// write passes the columns of a batch to the encoders, with blob values replaced by descriptions.
func (w *Writer) write(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(w.schema.Fields) {
		return fmt.Errorf("write data file: batch has %d columns, want %d", rec.NumCols(), len(w.schema.Fields))
	}
	stored := make([]arrow.Array, rec.NumCols())
	for i, field := range w.schema.Fields {
		var err error
		if stored[i], err = w.blobs.describe(field, rec.Column(i), nil); err != nil {
			return fmt.Errorf("write data file: %w", err)
		}
	}
	err := w.eachColumn(rec.NumRows() >= sideBySideRows, func(c *columnWriter, emit func(encoding.Page) error) error {
		return c.encoder.Append(stored[c.top], emit)
	})
	if err != nil {
		return fmt.Errorf("write data file: %w", err)
	}
	w.rows += rec.NumRows()
	return nil
}

// AddBuffer writes a global buffer and returns its number, by which metadata refer to it: 1 for the
// first, because the file descriptor is 0.
func (w *Writer) AddBuffer(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.err = w.align(); w.err == nil {
		w.globals = appendExtent(w.globals, uint64(w.size), uint64(len(b)))
		w.err = w.put(b)
	}
	return len(w.globals) / extentBytes, w.err
}

// Buffered returns the bytes of rows that wait for a full page.
func (w *Writer) Buffered() int64 {
	size := 0
	for _, c := range w.columns {
		size += c.encoder.Size()
	}
	return int64(size)
}

// Buffers begin at multiples of pageAlignment; native readers reject others. The padding bytes are
// free. They equal the native writer's, so that equal encodings give equal files.
const (
	pageAlignment = 64
	pagePadding   = 'H'
)

// putPage writes a page of column c: each buffer after padding, in order.
func (w *Writer) putPage(c *columnWriter, p encoding.Page) error {
	meta := pb.Page{Length: uint64(p.Rows), Priority: p.Priority, Encoding: p.Encoding}
	for _, buffer := range p.Buffers {
		if err := w.align(); err != nil {
			return err
		}
		meta.BufferOffsets = append(meta.BufferOffsets, uint64(w.size))
		meta.BufferSizes = append(meta.BufferSizes, uint64(len(buffer)))
		if err := w.put(buffer); err != nil {
			return err
		}
	}
	c.meta.Pages = append(c.meta.Pages, meta)
	return nil
}

func (w *Writer) put(b []byte) error {
	n, err := w.out.Write(b)
	w.size += int64(n)
	return err
}

// align pads the file to a multiple of pageAlignment.
func (w *Writer) align() error {
	if extra := w.size % pageAlignment; extra != 0 {
		return w.put(bytes.Repeat([]byte{pagePadding}, int(pageAlignment-extra)))
	}
	return nil
}

// Close encodes the remaining rows and writes all that follows the pages. It does not close the
// underlying writer.
func (w *Writer) Close() (Summary, error) {
	if w.err == nil {
		if w.err = w.finish(); w.err == nil {
			w.err = fmt.Errorf("write data file: already closed")
			return w.summary(), nil
		}
	}
	return Summary{}, w.err
}

// finish flushes the waiting rows and writes descriptor, metadata, tables and footer.
func (w *Writer) finish() error {
	err := w.eachColumn(w.Buffered() >= sideBySideBytes, func(c *columnWriter, emit func(encoding.Page) error) error {
		return c.encoder.Flush(emit)
	})
	if err != nil {
		return fmt.Errorf("write data file: %w", err)
	}
	if err := w.blobs.close(); err != nil {
		return fmt.Errorf("write side file: %w", err)
	}
	if err := w.align(); err != nil {
		return fmt.Errorf("write data file: %w", err)
	}
	if err := w.put(w.tail()); err != nil {
		return fmt.Errorf("write data file: %w", err)
	}
	return nil
}

// tail encodes all that follows the pages: descriptor, metadata of columns, tables, footer.
func (w *Writer) tail() []byte {
	start := uint64(w.size)
	fields := w.schema
	if w.version == lance.V2_2 {
		fields = fields.Described() // before, blobs are listed as the binaries that they are
	}
	descriptor := pb.FileDescriptor{Fields: fields.PB(), Metadata: w.schema.Metadata, Length: uint64(w.rows)}
	var e pb.Encoder
	descriptor.Marshal(&e)
	globals := append(appendExtent(nil, start, uint64(len(e.B))), w.globals...)
	metadata := start + uint64(len(e.B))
	var columns []byte
	for _, c := range w.columns {
		c.meta.Encoding = columnEncoding(w.version == lance.V2_0 && c.field.IsBlob())
		at := len(e.B)
		c.meta.Marshal(&e)
		columns = appendExtent(columns, start+uint64(at), uint64(len(e.B)-at))
	}
	columnTable := start + uint64(len(e.B))
	b := slices.Concat(e.B, columns)
	globalTable := start + uint64(len(b))
	b = append(b, globals...)
	return w.appendFooter(b, metadata, columnTable, globalTable)
}

// extentBytes is the length of an entry of a table: a position and a size.
const extentBytes = 16

// appendExtent appends u64 position and u64 size.
func appendExtent(b []byte, position, size uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, position)
	return binary.LittleEndian.AppendUint64(b, size)
}

// columnEncoding returns the encoding of a column, which is the same for nearly all:
// ColumnEncoding{values=1: Empty}. In version 2.0 a blob column has this message inside of another:
// ColumnEncoding{blob=3: {inner=1}}.
func columnEncoding(isBlob bool) pb.Any {
	var e pb.Encoder
	values := func(e *pb.Encoder) { e.Message(1, func(*pb.Encoder) {}) }
	if isBlob {
		e.Message(3, func(e *pb.Encoder) { e.Message(1, values) })
	} else {
		values(&e)
	}
	return pb.Any{TypeURL: pb.TypeColumnEncoding, Value: e.B}
}

// appendFooter appends the last 40 bytes of the file:
//
//	u64 position of the column metadata
//	u64 position of the table of column metadata
//	u64 position of the table of global buffers
//	u32 global buffers | u32 columns | u16 major | u16 minor | "LANC"
func (w *Writer) appendFooter(b []byte, metadata, columnTable, globalTable uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, metadata)
	b = binary.LittleEndian.AppendUint64(b, columnTable)
	b = binary.LittleEndian.AppendUint64(b, globalTable)
	b = binary.LittleEndian.AppendUint32(b, uint32(1+len(w.globals)/extentBytes))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(w.columns)))
	major, minor := w.version.Major, w.version.Minor
	if w.version == lance.V2_0 {
		major, minor = 0, 3 // the numbers that version 2.0 files carry
	}
	b = binary.LittleEndian.AppendUint16(b, major)
	b = binary.LittleEndian.AppendUint16(b, minor)
	return append(b, "LANC"...)
}

func (w *Writer) summary() Summary {
	s := Summary{Rows: w.rows, Size: w.size}
	for i, c := range w.columns {
		s.Fields = append(s.Fields, c.field.ID)
		s.ColumnIndices = append(s.ColumnIndices, int32(i))
	}
	return s
}
