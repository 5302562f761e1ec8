package legacyfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A Writer writes one data file of version 0.2, without statistics. Rows wait in memory
// until they fill a batch. A Writer is for one goroutine. After an error nothing more can
// be written.
type Writer struct {
	out     io.Writer
	size    int64 // bytes written
	schema  *schema.Schema
	arrow   *arrow.Schema // of the rows that wait: see indexed
	options Options
	known   map[int32]*dictionary.Index // of the dictionaries, by field
	starts  []int64                     // rows before each batch that is written, and all of them
	pages   map[int32][]page
	waiting []arrow.RecordBatch
	rows    int64 // in waiting
	err     error // the first error, returned by all later calls
}

// Options control how the rows of a file are written. The zero value suits tables without
// dictionaries.
type Options struct {
	// Batches are the lengths of the file's batches; all files of one fragment must have
	// the same. Nil means 1,024 rows in each.
	Batches []int64
	// Dictionaries holds the table's dictionaries by field. They must contain the values of all
	// rows.
	Dictionaries map[int32]arrow.Array
	// Exact rejects rows with other dictionaries than these.
	Exact bool
}

// batchRows is the native writer's number of rows in a batch.
const batchRows = 1024

// NewWriter begins a data file with the fields of sch. If such files cannot hold the type
// of a field, or the table has no dictionary for a field that needs one, the error is
// [lance.ErrUnsupported] and names the field. The writer keeps sch and the dictionaries.
func NewWriter(out io.Writer, sch *schema.Schema, options Options) (*Writer, error) {
	if len(sch.Fields) == 0 {
		return nil, fmt.Errorf("%w: a data file without columns", lance.ErrUnsupported)
	}
	for field := range sch.All() {
		if !writable(field) {
			return nil, fmt.Errorf("%w: field %q of type %s in legacy data files", lance.ErrUnsupported, field.Name, field.Type)
		}
	}
	fields := make([]arrow.Field, len(sch.Fields))
	for i, field := range sch.Fields {
		fields[i] = arrow.Field{Name: field.Name, Type: indexedType(field.Type), Nullable: true}
	}
	w := &Writer{
		out: out, schema: sch, arrow: arrow.NewSchema(fields, nil), options: options,
		starts: []int64{0}, pages: map[int32][]page{},
	}
	return w, w.takeDictionaries()
}

// writable reports whether the format can hold values of a field's type.
func writable(field *schema.Field) bool {
	if field.IsBlob() {
		return false
	}
	switch t := field.Type.(type) {
	case *arrow.StructType:
		return len(field.Children) > 0
	case *arrow.ListType, *arrow.LargeListType:
		return len(field.Children) == 1
	case *arrow.DictionaryType:
		return dictionary.Holds(t.ValueType)
	case *arrow.MapType:
		return false
	case *arrow.NullType:
		return true
	default:
		bits, ok := fixedBits(t)
		return isBinary(t) || ok && bits > 0
	}
}

// Write adds the rows of rec, whose columns are matched with the schema's fields by
// position. The writer may refer to rec's memory until Close, so it must not change. A
// value that a dictionary of the table lacks is [schema.ErrMismatch].
func (w *Writer) Write(rec arrow.RecordBatch) error {
	if w.err == nil {
		w.err = w.write(rec)
	}
	return w.err
}

// write maps dictionary values to indices, checks the types and appends rows to the batch.
func (w *Writer) write(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(w.schema.Fields) {
		return fmt.Errorf("write data file: batch has %d columns, want %d", rec.NumCols(), len(w.schema.Fields))
	}
	columns := slices.Clone(rec.Columns())
	for i, field := range w.schema.Fields {
		var err error
		if columns[i], err = w.indexed(field, columns[i]); err != nil {
			return err
		}
		if want := w.arrow.Field(i).Type; !arrow.TypeEqual(columns[i].DataType(), want) {
			return fmt.Errorf("write data file: column %s is of type %s, want %s", field.Name, columns[i].DataType(), want)
		}
	}
	rec = array.NewRecordBatch(w.arrow, columns, rec.NumRows())
	for from := int64(0); from < rec.NumRows(); {
		n := min(rec.NumRows()-from, w.batchLen()-w.rows)
		w.waiting = append(w.waiting, rec.NewSlice(from, from+n))
		w.rows += n
		from += n
		if w.rows == w.batchLen() {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Waiting returns the rows that wait for their batch to fill up.
func (w *Writer) Waiting() []arrow.RecordBatch { return slices.Clip(w.waiting) }

// batchLen returns the number of rows of the current batch.
func (w *Writer) batchLen() int64 {
	if at := len(w.starts) - 1; at < len(w.options.Batches) {
		return w.options.Batches[at]
	}
	return batchRows
}

// flush writes a batch.
func (w *Writer) flush() error {
	batch, err := take.Concat(w.arrow, w.waiting)
	if err != nil {
		return err
	}
	for i, field := range w.schema.Fields {
		if err := w.array(field, batch.Column(i).Data()); err != nil {
			return fmt.Errorf("write column %s: %w", field.Name, err)
		}
	}
	w.starts = append(w.starts, w.starts[len(w.starts)-1]+w.rows)
	w.waiting, w.rows = nil, 0
	return nil
}

func (w *Writer) put(b []byte) error {
	n, err := w.out.Write(b)
	w.size += int64(n)
	return err
}

// page records that a field's page in the current batch begins here.
func (w *Writer) page(field *schema.Field, items int64) {
	pages := w.pages[field.ID]
	for len(pages) < len(w.starts)-1 {
		pages = append(pages, page{})
	}
	w.pages[field.ID] = append(pages, page{w.size, items})
}

// array writes the pages of a field and of the fields below it.
func (w *Writer) array(field *schema.Field, data arrow.ArrayData) error {
	n := data.Len()
	switch t := field.Type.(type) {
	case *arrow.StructType:
		for i, child := range data.Children() {
			member := array.NewSliceData(child, int64(data.Offset()), int64(data.Offset()+n))
			if err := w.array(field.Children[i], member); err != nil {
				return err
			}
		}
		return nil
	case *arrow.NullType:
		w.page(field, int64(n))
		return nil
	case *arrow.ListType, *arrow.LargeListType:
		return w.list(field, data)
	default:
		if isBinary(t) {
			return w.binary(field, data)
		}
		w.page(field, int64(n))
		return w.put(fixedBytes(data))
	}
}

// fixedBytes returns the stored form of values of fixed width. Nulls are zero, because
// readers take the stored bytes as their value.
func fixedBytes(data arrow.ArrayData) []byte {
	n, from := int64(data.Len()), int64(data.Offset())
	bits, _ := fixedBits(data.DataType())
	var b []byte
	switch t := data.DataType().(type) {
	case *arrow.FixedSizeListType:
		size := int64(t.Len())
		b = fixedBytes(array.NewSliceData(data.Children()[0], from*size, (from+n)*size))
	case *arrow.BooleanType:
		b = make([]byte, bitutil.BytesForBits(n))
		if n > 0 {
			bitutil.CopyBitmap(data.Buffers()[1].Bytes(), int(from), int(n), b, 0)
		}
	default:
		if n > 0 {
			b = data.Buffers()[1].Bytes()[from*bits/8 : (from+n)*bits/8]
		}
	}
	if data.NullN() == 0 || data.Buffers()[0] == nil {
		return b
	}
	b = slices.Clone(b)
	for i := range n {
		switch {
		case bitutil.BitIsSet(data.Buffers()[0].Bytes(), int(from+i)):
		case bits%8 == 0:
			clear(b[i*bits/8 : (i+1)*bits/8])
		default:
			bitutil.SetBitsTo(b, i*bits, bits, false)
		}
	}
	return b
}

// binary writes texts or bytes, then their positions. Nulls are empty.
func (w *Writer) binary(field *schema.Field, data arrow.ArrayData) error {
	bounds := offsetsOf(data)
	positions := make([]byte, 0, 8*len(bounds))
	positions = binary.LittleEndian.AppendUint64(positions, uint64(w.size))
	var valid []byte
	if data.NullN() != 0 && data.Buffers()[0] != nil { // of slices it is not known
		valid = data.Buffers()[0].Bytes()
	}
	for i := 0; i < data.Len(); {
		// Copy as many adjacent values at once as possible.
		from, end := i, w.size
		for ; i < data.Len() && (valid == nil || bitutil.BitIsSet(valid, data.Offset()+i)); i++ {
			positions = binary.LittleEndian.AppendUint64(positions, uint64(end+bounds[i+1]-bounds[from]))
		}
		if bounds[i] > bounds[from] {
			if err := w.put(data.Buffers()[2].Bytes()[bounds[from]:bounds[i]]); err != nil {
				return err
			}
		}
		if i < data.Len() { // a null
			positions = binary.LittleEndian.AppendUint64(positions, uint64(w.size))
			i++
		}
	}
	w.page(field, int64(data.Len()))
	return w.put(positions)
}

// list writes the offsets of lists, then the items.
func (w *Writer) list(field *schema.Field, data arrow.ArrayData) error {
	bounds := offsetsOf(data)
	first, last := bounds[0], bounds[len(bounds)-1]
	stored := newOffsets(data.Len(), field.Type.ID() == arrow.LARGE_LIST)
	for i, at := range bounds {
		stored.set(i, at-first)
	}
	w.page(field, int64(len(bounds)))
	if err := w.put(stored.bytes); err != nil {
		return err
	}
	return w.array(field.Children[0], array.NewSliceData(data.Children()[0], first, last))
}

// offsetsOf returns the n+1 offsets of texts, bytes or lists.
func offsetsOf(data arrow.ArrayData) []int64 {
	bounds := make([]int64, data.Len()+1)
	if data.Len() == 0 {
		return bounds // there may be no buffer
	}
	id := data.DataType().ID()
	stored := offsets{data.Buffers()[1].Bytes(), id == arrow.LARGE_STRING || id == arrow.LARGE_BINARY || id == arrow.LARGE_LIST}
	for i := range bounds {
		bounds[i] = stored.at(data.Offset() + i)
	}
	return bounds
}

// A Summary provides a data file's manifest entry.
type Summary struct {
	Rows   int64
	Size   int64   // in bytes
	Fields []int32 // ids of all fields, ascending
}

// Close writes the rest of the file.
func (w *Writer) Close() (Summary, error) {
	if w.err == nil && w.rows > 0 {
		w.err = w.flush()
	}
	if w.err == nil {
		w.err = w.finish()
	}
	sum := Summary{Rows: w.starts[len(w.starts)-1], Size: w.size}
	for field := range w.schema.All() {
		sum.Fields = append(sum.Fields, field.ID)
	}
	slices.Sort(sum.Fields)
	return sum, w.err
}

// finish writes the parts after the pages; the package comment shows the layout.
func (w *Writer) finish() error {
	meta := metadata{batches: w.starts, pageTable: uint64(w.size)}
	if err := w.put(w.appendPageTable(nil)); err != nil {
		return err
	}
	fields, err := w.putDictionaries()
	if err != nil {
		return err
	}
	meta.manifest = uint64(w.size)
	own := pb.Manifest{
		Fields: fields, SchemaMetadata: w.schema.Metadata, Version: 1,
		DataFormat: &pb.DataFormat{FileFormat: "lance", Version: "0.1"},
	}
	var e pb.Encoder
	own.Marshal(&e)
	if err := w.put(appendMessage(nil, e.B)); err != nil {
		return err
	}
	at := w.size
	end := appendMessage(nil, meta.marshal())
	end = binary.LittleEndian.AppendUint64(end, uint64(at))
	end = binary.LittleEndian.AppendUint16(end, lance.Legacy.Major)
	end = binary.LittleEndian.AppendUint16(end, lance.Legacy.Minor)
	return w.put(append(end, "LANC"...))
}

// appendPageTable appends the table, with zero cells for ids without pages.
func (w *Writer) appendPageTable(b []byte) []byte {
	lowest, highest := w.schema.Fields[0].ID, int32(-1)
	for field := range w.schema.All() {
		lowest = min(lowest, field.ID)
		if len(w.pages[field.ID]) > 0 {
			highest = max(highest, field.ID)
		}
	}
	for id := lowest; id <= highest; id++ {
		pages := w.pages[id]
		for batch := range len(w.starts) - 1 {
			var p page
			if batch < len(pages) {
				p = pages[batch]
			}
			b = binary.LittleEndian.AppendUint64(b, uint64(p.position))
			b = binary.LittleEndian.AppendUint64(b, uint64(p.length))
		}
	}
	return b
}

func appendMessage(b, message []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(message))), message...)
}

func (m *metadata) marshal() []byte {
	var e pb.Encoder
	e.Uint64(1, m.manifest)
	batches := make([]int32, len(m.batches))
	for i, at := range m.batches {
		batches[i] = int32(at)
	}
	pb.Packed(&e, 2, batches)
	e.Uint64(3, m.pageTable)
	return e.B
}
