package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// keys finds the rows of a merge's source that a row of the table matches.
type keys struct {
	on     []string
	source arrow.RecordBatch
	// The first row of the source with a key; next leads on to those with the same key
	// (-1: no more). Keys of one column of up to 8 bytes are numbers, others are text.
	numbers map[uint64]int32
	texts   map[string]int32
	next    []int32
}

// newKeys indexes the source by the key columns, which the table must have too.
func newKeys(d *dataset.Dataset, source arrow.RecordBatch, on []string) (*keys, error) {
	k := &keys{on: on, source: source, next: make([]int32, source.NumRows())}
	var columns []arrow.Array
	for _, name := range on {
		at := source.Schema().FieldIndices(name)
		if d.Schema().Field(name) == nil {
			return nil, noColumn(d.NoColumn(name))
		}
		if len(at) == 0 {
			return nil, &protocol.Error{
				Code: protocol.TableColumnNotFound, Message: fmt.Sprintf("the rows to merge have no column %q, which on names", name),
			}
		}
		columns = append(columns, source.Column(at[0]))
	}
	readers, err := newKeyReaders(columns)
	if err != nil {
		return nil, err
	}
	n := int(source.NumRows())
	if readers.number != nil {
		k.numbers = make(map[uint64]int32, n)
	} else {
		k.texts = make(map[string]int32, n)
	}
	// From the last row to the first, so that chains lead forward.
	var buffer []byte
	for row := n - 1; row >= 0; row-- {
		k.next[row] = -1
		if readers.null(row) {
			continue
		}
		if readers.number != nil {
			key := readers.number(row)
			if first, ok := k.numbers[key]; ok {
				k.next[row] = first
			}
			k.numbers[key] = int32(row)
			continue
		}
		buffer = readers.text(buffer[:0], row)
		if first, ok := k.texts[string(buffer)]; ok {
			k.next[row] = first
		}
		k.texts[string(buffer)] = int32(row)
	}
	return k, nil
}

// matched is a row of the table and the first row of the source that it matches.
type matched struct {
	row     int32
	address uint64
}

// scan finds the rows of the table that match, in its order. With rest also the
// addresses of those that do not.
func (k *keys) scan(ctx context.Context, d *dataset.Dataset, rest bool) (matches []matched, unmatched []uint64, err error) {
	type part struct {
		matches   []matched
		unmatched []uint64
	}
	opts := dataset.ScanOptions{Columns: append(append([]string{}, k.on...), dataset.RowAddr)}
	parts, err := dataset.Map(ctx, d, opts, func(_ context.Context, batch arrow.RecordBatch) (part, error) {
		var p part
		at := batch.Column(len(k.on)).(*array.Uint64).Uint64Values()
		rows, err := k.lookUp(batch.Columns()[:len(k.on)])
		for i, row := range rows {
			if row >= 0 {
				p.matches = append(p.matches, matched{row, at[i]})
			} else if rest {
				p.unmatched = append(p.unmatched, at[i])
			}
		}
		return p, err
	})
	if err != nil {
		return nil, nil, err
	}
	for p, err := range parts {
		if err != nil {
			return nil, nil, err
		}
		matches = append(matches, p.matches...)
		unmatched = append(unmatched, p.unmatched...)
	}
	return matches, unmatched, nil
}

// pairs returns each row of the table with each row of the source that it matches. Those
// of one row of the table stand together.
func (k *keys) pairs(matches []matched) []merged {
	pairs := make([]merged, 0, len(matches))
	for _, m := range matches {
		for row := m.row; row >= 0; row = k.next[row] {
			pairs = append(pairs, merged{row, m.address})
		}
	}
	return pairs
}

// lookUp returns, for each row of the key columns, the first row of the source that it
// matches, or -1.
func (k *keys) lookUp(columns []arrow.Array) ([]int32, error) {
	readers, err := newKeyReaders(columns)
	if err != nil {
		return nil, err
	}
	rows := make([]int32, columns[0].Len())
	var buffer []byte
	for i := range rows {
		rows[i] = -1
		if readers.null(i) {
			continue
		}
		if k.numbers != nil {
			if row, ok := k.numbers[readers.number(i)]; ok {
				rows[i] = row
			}
			continue
		}
		buffer = readers.text(buffer[:0], i)
		if row, ok := k.texts[string(buffer)]; ok {
			rows[i] = row
		}
	}
	return rows, nil
}

// describe names the key of a row of the source, for messages.
func (k *keys) describe(row int32) string {
	var parts []string
	for _, name := range k.on {
		column := k.source.Column(k.source.Schema().FieldIndices(name)[0])
		parts = append(parts, fmt.Sprintf("%s = %s", name, column.ValueStr(int(row))))
	}
	return strings.Join(parts, ", ")
}

// keyReaders read the keys of rows out of columns.
type keyReaders struct {
	columns []arrow.Array
	number  func(row int) uint64                  // nil unless all keys are such
	texts   []func(buffer []byte, row int) []byte // one per column
}

func newKeyReaders(columns []arrow.Array) (*keyReaders, error) {
	r := &keyReaders{columns: columns}
	for _, c := range columns {
		text, err := textKey(c)
		if err != nil {
			return nil, err
		}
		r.texts = append(r.texts, text)
	}
	if len(columns) == 1 {
		r.number = numberKey(columns[0])
	}
	return r, nil
}

func (r *keyReaders) null(row int) bool {
	for _, c := range r.columns {
		if c.IsNull(row) {
			return true
		}
	}
	return false
}

// text appends the keys of a row, each behind its length, so that no two rows of
// different keys have the same.
func (r *keyReaders) text(buffer []byte, row int) []byte {
	for _, text := range r.texts {
		start := len(buffer)
		buffer = text(append(buffer, 0, 0, 0, 0), row)
		binary.LittleEndian.PutUint32(buffer[start:], uint32(len(buffer)-start-4))
	}
	return buffer
}

// numberKey reads values of 1, 2, 4 or 8 bytes as numbers; it is nil for others.
func numberKey(c arrow.Array) func(row int) uint64 {
	width, ok := c.DataType().(arrow.FixedWidthDataType)
	if !ok || !plainKey(c.DataType()) {
		return nil
	}
	data := c.Data()
	if data.Buffers()[1] == nil {
		return func(int) uint64 { return 0 } // no rows
	}
	values := data.Buffers()[1].Bytes()
	offset := data.Offset()
	switch width.BitWidth() {
	case 8:
		return func(row int) uint64 { return uint64(values[offset+row]) }
	case 16:
		v := arrow.Uint16Traits.CastFromBytes(values)[offset:]
		return func(row int) uint64 { return uint64(v[row]) }
	case 32:
		v := arrow.Uint32Traits.CastFromBytes(values)[offset:]
		return func(row int) uint64 { return uint64(v[row]) }
	case 64:
		v := arrow.Uint64Traits.CastFromBytes(values)[offset:]
		return func(row int) uint64 { return v[row] }
	}
	return nil
}

// plainKey says whether equal values of a type have equal bytes.
func plainKey(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION,
		arrow.DECIMAL128, arrow.DECIMAL256, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// textKey reads values as bytes.
func textKey(c arrow.Array) (func(buffer []byte, row int) []byte, error) {
	switch c := c.(type) {
	case *array.String:
		return func(b []byte, row int) []byte { return append(b, c.Value(row)...) }, nil
	case *array.LargeString:
		return func(b []byte, row int) []byte { return append(b, c.Value(row)...) }, nil
	case *array.Binary:
		return func(b []byte, row int) []byte { return append(b, c.Value(row)...) }, nil
	case *array.LargeBinary:
		return func(b []byte, row int) []byte { return append(b, c.Value(row)...) }, nil
	case *array.Boolean:
		return func(b []byte, row int) []byte {
			if c.Value(row) {
				return append(b, 1)
			}
			return append(b, 0)
		}, nil
	}
	if !plainKey(c.DataType()) {
		return nil, protocol.Errorf(protocol.Unsupported, "merging on a column of type %s is not supported", c.DataType())
	}
	width := int(bitutil.BytesForBits(int64(c.DataType().(arrow.FixedWidthDataType).BitWidth())))
	var values []byte
	if buffer := c.Data().Buffers()[1]; buffer != nil {
		values = buffer.Bytes()[c.Data().Offset()*width:]
	}
	return func(b []byte, row int) []byte { return append(b, values[row*width:(row+1)*width]...) }, nil
}
