package query

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// An ordering turns rows into sort keys whose byte order is the requested order.
type ordering struct {
	columns []string // the columns to read: first others, then the sort columns
	sort    []sortKey
}

// A sortKey describes how one sort column is encoded in the keys.
type sortKey struct {
	column     int // position in columns
	of         arrow.DataType
	append     sortkey.Append
	descending bool
	nullsFirst bool           // before the key of a descending column is inverted
	dictionary bool           // the column has dictionaries
	ranks      *sortkey.Ranks // of the dictionary values; nil until these turn out to be long
}

// newOrdering resolves the sort columns. They are read after the columns in others.
func newOrdering(d *dataset.Dataset, by []Order, others ...string) (*ordering, error) {
	o := &ordering{columns: others}
	for _, b := range by {
		field, err := d.Column(b.Column)
		if err != nil {
			return nil, err
		}
		k := sortKey{of: field.Type, descending: b.Descending, dictionary: take.HasDictionary(field.Type)}
		// A descending key is inverted, which moves its nulls to the other end.
		k.nullsFirst = b.NullsFirst != k.descending
		if k.append = sortkey.Of(field.Type, k.nullsFirst); k.append == nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "order_by: column %q of type %s cannot be sorted", b.Column, field.Type)
		}
		if k.column = slices.Index(o.columns, b.Column); k.column < 0 {
			k.column = len(o.columns)
			o.columns = append(o.columns, b.Column)
		}
		o.sort = append(o.sort, k)
	}
	return o, nil
}

// errLongValues means that dictionaries have values whose keys would take much more memory than the
// column. The values must be ranked first.
var errLongValues = errors.New("dictionaries have long values")

// longKeys bounds the bytes of keys from the dictionaries of a batch.
const longKeys = 4 << 20

// keys returns the sort keys of the rows of a batch with the ordering's columns. For each row, tail
// returns a number that breaks ties, and the position of the row. Of more rows than the limit, keys may leave out some that
// are not among the first of the batch. It takes the memory from the context before it makes the keys. The error may be
// errLongValues.
func (o *ordering) keys(ctx context.Context, batch arrow.RecordBatch, limit int64, tail func(i int) (order, place uint64)) (keys [][]byte, err error) {
	n := int(batch.NumRows())
	size := int64(n) * (tailBytes + sortkey.Overhead)
	appends := make([]sortkey.Append, len(o.sort))
	for at, k := range o.sort {
		column := batch.Column(k.column)
		if appends[at] = k.append; k.ranks != nil {
			appends[at] = k.ranks.Of(k.of)
			size += int64(rankedBytes * n)
			continue
		}
		// Keys of a dictionary repeat its values for each row, so long values would multiply.
		bytes := sortkey.Bytes(column)
		if size += bytes; k.dictionary && bytes > longKeys {
			return nil, errLongValues
		}
	}
	held, err := memory.Take(ctx, size)
	if err != nil {
		return nil, err
	}
	row := func(i int) int { return i }
	if rows := o.leading(batch, limit); rows != nil {
		n, row = len(rows), func(i int) int { return int(rows[i]) }
	}
	keys, made := sortkey.Keys(n, size, func(block []byte, i int) []byte {
		row := row(i)
		for at, k := range o.sort {
			from := len(block)
			block = appends[at](block, batch.Column(k.column), row)
			// Inverted bytes sort in descending order.
			if k.descending {
				for j := from; j < len(block); j++ {
					block[j] = ^block[j]
				}
			}
		}
		order, place := tail(row)
		return appendTail(block, order, place)
	})
	return keys, held.Resize(ctx, made)
}

// leading returns the rows of a batch that can be among as many first ones, or nil for all of them.
func (o *ordering) leading(batch arrow.RecordBatch, limit int64) []int32 {
	first := o.sort[0]
	if limit > batch.NumRows()/4 {
		return nil
	}
	// A descending key is inverted, which moves its nulls to the other end.
	l := sortkey.NewLeading(first.of, limit, first.descending, first.nullsFirst != first.descending)
	if l == nil {
		return nil
	}
	return l.Rows([]int32{}, batch.Column(first.column))
}

// rankedBytes is the approximate size of a rank in a key.
const rankedBytes = 8

// rank ranks the dictionary values of all batches. each must call add with every batch; add is safe
// for concurrent use.
func (o *ordering) rank(each func(add func(context.Context, arrow.RecordBatch) error) error) error {
	for at, k := range o.sort {
		if k.dictionary {
			o.sort[at].ranks = sortkey.NewRanks(k.nullsFirst)
		}
	}
	err := each(func(ctx context.Context, batch arrow.RecordBatch) error {
		for _, k := range o.sort {
			if k.ranks != nil {
				if err := k.ranks.Add(ctx, batch.Column(k.column)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for _, k := range o.sort {
		if k.ranks != nil {
			k.ranks.Sort()
		}
	}
	return err
}

// close releases the ranks.
func (o *ordering) close() {
	for at, k := range o.sort {
		if k.ranks != nil {
			k.ranks.Close()
		}
		o.sort[at].ranks = nil
	}
}

// tailBytes is the number of bytes that appendTail appends.
const tailBytes = 16

// appendTail appends to a row's key 8 bytes that break ties, and 8 bytes with the position by which
// the row is fetched.
func appendTail(key []byte, order, at uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, order), at)
}

// keyAt returns the position that a key ends with.
func keyAt(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// noLimit is the limit of a query for all rows.
const noLimit = sortkey.NoLimit

// sortBytes bounds the bytes of keys that a sort holds in memory.
const sortBytes = 64 << 20
