package ivf

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/process/memory"
)

// writtenBytes is the size of a piece of a partition that is written at a time, unless a graph needs it
// whole.
const writtenBytes = 4 << 20

// A writer writes the partitions of a segment in their order, and then the rest of its files.
type writer struct {
	*build
	storage, top index.FileWriter
	places       model // of the partitions in the storage file
	around       model // the centroids, and the places of graphs
	graphs       []string

	held    memory.Hold // for the rows at hand
	ids     []uint64
	codes   []byte
	written int64 // rows of the partition at hand
}

// write writes the files of the segment from sorted keys.
func (b *build) write(ctx context.Context, keys iter.Seq2[[]byte, error], out index.Output) error {
	w := &writer{build: b}
	defer w.held.Release()
	var err error
	if w.storage, err = out.Create(ctx, storageFile, arrow.NewSchema(w.storageFields(), nil)); err != nil {
		return err
	}
	if w.top, err = out.Create(ctx, indexFile, arrow.NewSchema(w.topFields(), nil)); err != nil {
		return err
	}
	for key, err := range keys {
		if err == nil {
			err = w.add(ctx, key)
		}
		if err != nil {
			return err
		}
	}
	for len(w.places.rows) < w.table.Len() {
		if err := w.endPartition(ctx); err != nil {
			return err
		}
	}
	if err := w.endStorage(ctx); err != nil {
		return err
	}
	if err := w.endTop(ctx); err != nil {
		return err
	}
	if w.hasGroups() {
		return w.writeGroups(ctx, out)
	}
	return nil
}

// add adds the row of a key to its partition.
func (w *writer) add(ctx context.Context, key []byte) error {
	for partition := int(binary.BigEndian.Uint32(key)); len(w.places.rows) < partition; {
		if err := w.endPartition(ctx); err != nil {
			return err
		}
	}
	w.ids = append(w.ids, binary.BigEndian.Uint64(key[4:]))
	w.codes = append(w.codes, key[keyBytes:]...)
	if !w.whole() && len(w.codes) >= writtenBytes {
		return w.flush(ctx)
	}
	if bytes := w.bytes(); bytes > w.held.Bytes() {
		return w.held.Resize(ctx, 2*bytes)
	}
	return nil
}

// whole reports whether a partition is written at once, because its codes do not lie row by row.
func (w *writer) whole() bool { return w.hasGraph() || w.quantizer() == "PQ" || w.quantizer() == "RQ" }

// bytes returns the memory of the buffered rows and of their encoded form.
func (w *writer) bytes() int64 { return 2 * (int64(len(w.codes)) + 8*int64(len(w.ids))) }

// flush writes the rows at hand.
func (w *writer) flush(ctx context.Context) error {
	rows := len(w.ids)
	if rows == 0 {
		return nil
	}
	if w.hasGraph() {
		if err := w.writeGraph(ctx); err != nil {
			return err
		}
	}
	fields := w.storageFields()
	columns := []arrow.Array{numbersOf(arrow.PrimitiveTypes.Uint64, arrow.Uint64Traits.CastToBytes(w.ids))}
	for i, codes := range w.encoder.Store(w.codes, rows) {
		columns = append(columns, codesOf(fields[i+1].Type, codes, rows))
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
	w.written += int64(rows)
	w.ids, w.codes = nil, nil
	return w.storage.Write(ctx, batch)
}

// endPartition writes the remaining rows of a partition.
func (w *writer) endPartition(ctx context.Context) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	w.places.add(w.written)
	if len(w.around.rows) < len(w.places.rows) { // the index has no graph
		w.around.add(0)
		w.graphs = append(w.graphs, "")
	}
	w.written = 0
	return ctx.Err()
}

// elementTypes are the types of the elements of vectors.
var elementTypes = map[arrow.Type]arrow.DataType{
	arrow.FLOAT16: arrow.FixedWidthTypes.Float16, arrow.FLOAT32: arrow.PrimitiveTypes.Float32,
	arrow.FLOAT64: arrow.PrimitiveTypes.Float64, arrow.UINT8: arrow.PrimitiveTypes.Uint8,
}

// storageFields returns the columns of the storage file: the row id and the columns of the code.
func (w *writer) storageFields() []arrow.Field {
	fields := []arrow.Field{{Name: "_rowid", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}}
	for _, c := range w.encoder.Columns() {
		field := arrow.Field{Name: c.Name, Type: elementTypes[c.Element], Nullable: true}
		if c.Width > 0 {
			field.Type = arrow.FixedSizeListOf(int32(c.Width), field.Type)
		}
		fields = append(fields, field)
	}
	return fields
}

// topFields are the columns of the index file. Without graphs it has no rows.
func (w *writer) topFields() []arrow.Field {
	if w.hasGraph() {
		return graphFields
	}
	return []arrow.Field{{Name: "__flat_marker", Type: arrow.PrimitiveTypes.Uint64}}
}

// numbersOf returns an array of numbers that lie in memory.
func numbersOf(t arrow.DataType, bytes []byte) arrow.Array {
	buffers := []*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(bytes)}
	n := len(bytes) / (t.(arrow.FixedWidthDataType).BitWidth() / 8)
	return array.MakeFromData(array.NewData(t, n, buffers, nil, 0, 0))
}

// codesOf returns an array of codes that lie in memory: of fixed-size lists, or of numbers.
func codesOf(t arrow.DataType, bytes []byte, rows int) arrow.Array {
	list, ok := t.(*arrow.FixedSizeListType)
	if !ok {
		return numbersOf(t, bytes)
	}
	items := numbersOf(list.Elem(), bytes).Data()
	return array.MakeFromData(array.NewData(t, rows, []*arrowmemory.Buffer{nil}, []arrow.ArrayData{items}, 0, 0))
}

// endStorage writes the metadata of the storage file: its partitions and the quantizer.
func (w *writer) endStorage(ctx context.Context) error {
	number, err := w.storage.AddBuffer(w.places.encode(0))
	if err != nil {
		return err
	}
	w.storage.SetMetadata(modelKey, strconv.Itoa(number))
	w.storage.SetMetadata("distance_type", w.metric.String())
	book := 0
	if buffer := w.encoder.Buffer(); buffer != nil {
		if book, err = w.storage.AddBuffer(buffer); err != nil {
			return err
		}
	}
	metadata, err := w.encoder.Metadata(book)
	if err == nil {
		err = setJSON(w.storage, "storage_metadata", []string{string(metadata)})
	}
	if err != nil {
		return err
	}
	return w.storage.Close(ctx)
}

// endTop writes the metadata of the index file: the centroids and the graphs.
func (w *writer) endTop(ctx context.Context) error {
	w.around.centroids = quantize.NewTensor(w.element, w.dim, w.centroids)
	number, err := w.top.AddBuffer(w.around.encode(w.loss))
	if err != nil {
		return err
	}
	w.top.SetMetadata(modelKey, strconv.Itoa(number))
	if err := setJSON(w.top, kindKey, w.kind()); err != nil {
		return err
	}
	graphs := "lance:flat"
	if w.hasGraph() {
		graphs = "lance:hnsw"
	}
	if err := setJSON(w.top, graphs, w.graphs); err != nil {
		return err
	}
	return w.top.Close(ctx)
}

// kindKey is the key in the metadata of a file for the kind and the metric of the segment.
const kindKey = "lance:index"

// A kindOf is the value of kindKey.
type kindOf struct {
	Type   string `json:"type"`
	Metric string `json:"distance_type"`
}

func (w *writer) kind() kindOf { return kindOf{w.Kind, w.metric.String()} }

func setJSON(file index.FileWriter, key string, value any) error {
	text, err := json.Marshal(value)
	file.SetMetadata(key, string(text))
	return err
}
