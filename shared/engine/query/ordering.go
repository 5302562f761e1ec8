package query

import (
	"encoding/binary"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sortkey"
)

// An ordering turns rows into keys whose byte order is the order of the rows.
type ordering struct {
	columns []string // the columns to read: first others, then those of the keys
	keys    []sortKey
}

type sortKey struct {
	column     int // position in columns
	append     sortkey.Append
	descending bool
	nullsFirst bool
}

// newOrdering resolves the columns of an order. They are read after the columns in others.
func newOrdering(d *dataset.Dataset, by []protocol.OrderBy, others ...string) (*ordering, error) {
	o := &ordering{columns: others}
	for _, b := range by {
		field, err := d.Column(b.ColumnName)
		if err != nil {
			return nil, err
		}
		k := sortKey{descending: b.Ascending != nil && !*b.Ascending, nullsFirst: b.NullsFirst}
		// A descending key is inverted, which moves its nulls to the other end.
		if k.append = sortkey.Of(field.Type, k.nullsFirst != k.descending); k.append == nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "order_by: column %q of type %s cannot be sorted", b.ColumnName, field.Type)
		}
		if k.column = slices.Index(o.columns, b.ColumnName); k.column < 0 {
			k.column = len(o.columns)
			o.columns = append(o.columns, b.ColumnName)
		}
		o.keys = append(o.keys, k)
	}
	return o, nil
}

// appendTo appends the key of row i of a batch with the ordering's columns.
func (o *ordering) appendTo(key []byte, batch arrow.RecordBatch, i int) []byte {
	for _, k := range o.keys {
		start := len(key)
		key = k.append(key, batch.Column(k.column), i)
		if k.descending {
			for j := start; j < len(key); j++ {
				key[j] = ^key[j]
			}
		}
	}
	return key
}

// appendTail appends to the key of a row 8 bytes that order it among equal rows, and 8 bytes with
// its position, by which the row is fetched.
func appendTail(key []byte, order, at uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, order), at)
}

// keyAt returns the position in a key.
func keyAt(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// noLimit is the limit of an order of all rows.
const noLimit = sortkey.NoLimit

// sortBytes is how many bytes of keys a sort holds in memory.
const sortBytes = 64 << 20
