package merge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// keys is an index of a merge's source by its key columns.
type keys struct {
	on []string
	// These maps contain the first row of the source with a key; next leads to further rows with the
	// same key (-1: none). Keys of one column of up to 8 bytes are numbers, all others are text.
	numbers map[uint64]int32
	filter  keyFilter // of numbers: avoids most lookups without a result
	texts   map[string]int32
	next    []int32
}

// findKeys returns the distinct names of the key columns. on may use another case or backticks, as
// in native Lance. The error is for columns that the table or the source lacks, or structs that the
// source has only in part.
func (p *Plan) findKeys(on []string) ([]string, error) {
	var names []string
	for _, path := range on {
		key := p.Dataset.Schema().Column(path)
		if key == nil {
			return nil, apierror.NoColumn(p.Dataset.NoColumn(path))
		}
		at := p.source.schema.FieldIndices(key.Name)
		if len(at) == 0 {
			return nil, &protocol.Error{
				Code: protocol.TableColumnNotFound, Message: fmt.Sprintf("the rows to merge have no column %q, which the field on names", key.Name),
			}
		}
		if p.partial[at[0]] != nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "the rows to merge have some members only of the column %q, which the field on names; send all of them", key.Name)
		}
		if !slices.Contains(names, key.Name) {
			names = append(names, key.Name)
		}
	}
	return names, nil
}

// keyColumns returns the key columns of a batch.
func keyColumns(batch arrow.RecordBatch, on []string) []arrow.Array {
	columns := make([]arrow.Array, len(on))
	for i, name := range on {
		columns[i] = batch.Column(batch.Schema().FieldIndices(name)[0])
	}
	return columns
}

// These constants are the memory of a row's key: as a number, with its part of the filter; as a
// text, without its bytes; and as a repeated key.
const (
	numberBytes = 44
	textBytes   = 64
	chainBytes  = 20
)

// errNoSpare means that the keys do not fit into memory, and must be matched on disk.
var errNoSpare = errors.New("no memory to spare")

// newKeys indexes the source by its key columns. The error is errNoSpare if there is too little
// memory.
func newKeys(ctx context.Context, source *Source, on []string, room *memory.Spare) (*keys, error) {
	if !room.Take(4 * int64(source.rows)) {
		return nil, errNoSpare
	}
	k := &keys{on: on, next: make([]int32, source.rows), texts: map[string]int32{}, numbers: map[uint64]int32{}}
	last := map[int32]int32{} // by first row of a chain, the last row
	for batch, err := range source.batches(ctx) {
		if err != nil {
			return nil, err
		}
		columns, err := batch.columns(on)
		if err != nil {
			return nil, err
		}
		readers, err := newKeyReaders(columns)
		if err != nil {
			return nil, err
		}
		var buffer []byte
		for i := range int(batch.NumRows()) {
			if err := readers.look(ctx); err != nil {
				return nil, err
			}
			row := int32(batch.first + i)
			k.next[row] = -1
			if readers.null(i) {
				continue
			}
			var first int32
			var known bool
			size := int64(chainBytes)
			if readers.number != nil {
				key := readers.number(i)
				if first, known = k.numbers[key]; !known {
					k.numbers[key], size = row, numberBytes
				}
			} else {
				buffer = readers.text(buffer[:0], i)
				if first, known = k.texts[string(buffer)]; !known {
					k.texts[string(buffer)], size = row, textBytes+int64(len(buffer))
				}
			}
			if known {
				k.append(first, row, last)
			}
			if !room.Take(size) {
				return nil, errNoSpare
			}
		}
	}
	k.filter = newKeyFilter(len(k.numbers), 64)
	for number := range k.numbers {
		k.filter.add(spread(number))
	}
	return k, nil
}

// append adds a row to the end of the chain that begins with first.
func (k *keys) append(first, row int32, last map[int32]int32) {
	end, ok := last[first]
	if !ok {
		end = first
	}
	k.next[end], last[first] = row, row
}

// match pairs the rows of the table with the rows of the source. If rest is set, it also returns the
// rows of the table without a match; otherwise it reads only the candidates that among returns.
func (k *keys) match(ctx context.Context, d *dataset.Dataset, among func(context.Context) (*snapshot.Candidates, error), rest bool) (*pairing, *rowset.Set, error) {
	type hit struct {
		row     int32
		address uint64
	}
	type part struct {
		hits      []hit
		unmatched []uint64
	}
	opts := snapshot.ScanOptions{Columns: append(append([]string{}, k.on...), snapshot.RowAddr)}
	// Without unmatched rows the scan itself can filter the rows, and use an index.
	if !rest {
		opts.Where, opts.Among = &snapshot.Where{Columns: k.on, Select: k.matching}, among
	}
	each := int64(mergedBytes)
	if rest {
		each += addressBytes
	}
	parts, err := snapshot.Map(ctx, d.Snapshot, opts, func(ctx context.Context, batch arrow.RecordBatch) (part, error) {
		var p part
		if _, err := memory.Take(ctx, each*batch.NumRows()); err != nil {
			return p, err
		}
		at := batch.Column(len(k.on)).(*array.Uint64).Uint64Values()
		// pass adds rows without a match, which lie before the next matching row.
		pass := func(to int) {
			if rest {
				p.unmatched = append(p.unmatched, at[:to]...)
			}
		}
		seen := 0
		err := k.lookUp(ctx, batch.Columns()[:len(k.on)], nil, func(i int, row int32) {
			pass(i - seen)
			p.hits = append(p.hits, hit{row, at[i-seen]})
			at, seen = at[i-seen+1:], i+1
		})
		pass(len(at))
		return p, err
	})
	if err != nil {
		return nil, nil, err
	}
	pairs, err := newPairing(ctx, len(k.next))
	if err != nil {
		return nil, nil, err
	}
	unmatched, held := rowset.At(), memory.Hold{}
	for p, err := range parts {
		if err != nil {
			return nil, nil, err
		}
		for _, h := range p.hits {
			pairs.add(h.address, h.row, k.next)
		}
		if err := errors.Join(pairs.count(ctx), unmatched.AddHeld(ctx, &held, p.unmatched)); err != nil {
			return nil, nil, err
		}
	}
	pairs.sort()
	return pairs, unmatched, nil
}

// matching returns the positions of the rows in a batch that match the source, as the filter of a
// scan does.
func (k *keys) matching(ctx context.Context, batch arrow.RecordBatch, among []uint64) (rows []int32, err error) {
	err = k.lookUp(ctx, keyColumns(batch, k.on), among, func(i int, _ int32) { rows = append(rows, int32(i)) })
	return rows, err
}

// lookUp calls found, in order, for each position whose key matches, with the first matching row of
// the source. It skips positions that are not in among; see [snapshot.Where].
func (k *keys) lookUp(ctx context.Context, columns []arrow.Array, among []uint64, found func(i int, row int32)) error {
	readers, err := newKeyReaders(columns)
	if err != nil {
		return err
	}
	nulls := slices.ContainsFunc(columns, func(c arrow.Array) bool { return c.NullN() > 0 })
	var buffer []byte
	const none = -1
	find := onceAValue(columns, func(i int) int32 {
		buffer = readers.text(buffer[:0], i)
		if row, ok := k.texts[string(buffer)]; ok {
			return row
		}
		return none
	})
	for i := range columns[0].Len() {
		if err := readers.look(ctx); err != nil {
			return err
		}
		var row int32
		var known bool
		switch {
		// A null key matches nothing.
		case nulls && readers.null(i):
		case readers.number != nil:
			if key := readers.number(i); k.filter.has(spread(key)) {
				row, known = k.numbers[key]
			}
		default:
			row = find(i)
			known = row != none
		}
		if known && (among == nil || among[i/64]>>(i%64)&1 != 0) {
			found(i, row)
		}
	}
	return nil
}

// describeKey returns the shortened key of a row, for messages to the client that sent the row.
func describeKey(batch arrow.RecordBatch, on []string, row int) string {
	parts := make([]string, len(on))
	for i, column := range keyColumns(batch, on) {
		parts[i] = fmt.Sprintf("%s = %.80s", on[i], column.ValueStr(row))
	}
	return strings.Join(parts, ", ")
}

// keyReaders encodes the keys of rows.
type keyReaders struct {
	columns []arrow.Array
	number  func(row int) uint64                  // nil unless all keys are numbers
	texts   []func(buffer []byte, row int) []byte // one reader per column
	read    int                                   // bytes of texts since the last check of the context
}

// lookBytes is the approximate number of bytes of keys between two checks of the context. A few values of a dictionary can
// be the keys of many rows.
const lookBytes = 1 << 20

func (r *keyReaders) look(ctx context.Context) error {
	if r.read < lookBytes {
		return nil
	}
	r.read = 0
	return ctx.Err()
}

// onceAValue caches the results of of by dictionary value if the only key column is a dictionary. The result of of must
// depend on the key of the row only.
func onceAValue[T any](columns []arrow.Array, of func(row int) T) func(row int) T {
	d, ok := columns[0].(*array.Dictionary)
	if !ok || len(columns) > 1 {
		return of
	}
	type made struct {
		value T
		ok    bool
	}
	all := make([]made, d.Dictionary().Len())
	return func(row int) T {
		m := &all[d.GetValueIndex(row)]
		if !m.ok {
			*m = made{of(row), true}
		}
		return m.value
	}
}

func newKeyReaders(columns []arrow.Array) (*keyReaders, error) {
	r := &keyReaders{columns: columns}
	for _, c := range columns {
		text, err := keyOf(c)
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

// text appends the key of a row. Each value is preceded by its length, so that different keys never
// have the same text.
func (r *keyReaders) text(buffer []byte, row int) []byte {
	for _, text := range r.texts {
		start := len(buffer)
		buffer = text(append(buffer, 0, 0, 0, 0), row)
		binary.LittleEndian.PutUint32(buffer[start:], uint32(len(buffer)-start-4))
	}
	r.read += len(buffer)
	return buffer
}

// numberKey returns a function that reads values of 1, 2, 4 or 8 bytes as numbers, or nil for other
// types.
func numberKey(c arrow.Array) func(row int) uint64 {
	width, ok := c.DataType().(arrow.FixedWidthDataType)
	if !ok || !plainKey(c.DataType()) {
		return nil
	}
	data := c.Data()
	if data.Buffers()[1] == nil {
		return func(int) uint64 { return 0 } // the array is empty
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

// plainKey reports whether equal values of a type have equal bytes. Floats are compared by their
// bits, as in native Lance: NaN equals NaN, and 0.0 differs from -0.0.
func plainKey(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64,
		arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION,
		arrow.DECIMAL128, arrow.DECIMAL256, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// keyOf returns a function that appends a value as bytes. The error is Unsupported for types that
// cannot be keys.
func keyOf(c arrow.Array) (func(buffer []byte, row int) []byte, error) {
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
	case *array.Dictionary:
		values, err := keyOf(c.Dictionary())
		return func(b []byte, row int) []byte { return values(b, c.GetValueIndex(row)) }, err
	case *array.Struct:
		return structKey(c)
	case array.ListLike:
		return listKey(c)
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

// structKey concatenates the members. Null members are equal to each other.
func structKey(c *array.Struct) (func(buffer []byte, row int) []byte, error) {
	members := make([]func(buffer []byte, row int) []byte, c.NumField())
	for i := range members {
		var err error
		if members[i], err = memberKey(c.Field(i)); err != nil {
			return nil, err
		}
	}
	return func(b []byte, row int) []byte {
		for _, member := range members {
			b = member(b, row)
		}
		return b
	}, nil
}

// listKey concatenates the elements. Null elements are equal to each other.
func listKey(c array.ListLike) (func(buffer []byte, row int) []byte, error) {
	if id := c.DataType().ID(); id == arrow.MAP {
		return nil, protocol.Errorf(protocol.Unsupported, "merging on a column of type %s is not supported", c.DataType())
	}
	element, err := memberKey(c.ListValues())
	return func(b []byte, row int) []byte {
		from, to := c.ValueOffsets(row)
		for ; from < to; from++ {
			b = element(b, int(from))
		}
		return b
	}, err
}

// memberKey encodes nullable values, each after its length; a null has the length 0xffffffff.
func memberKey(c arrow.Array) (func(buffer []byte, row int) []byte, error) {
	value, err := keyOf(c)
	return func(b []byte, row int) []byte {
		start := len(b)
		b = append(b, 0xff, 0xff, 0xff, 0xff)
		if !c.IsNull(row) {
			b = value(b, row)
			binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
		}
		return b
	}, err
}
