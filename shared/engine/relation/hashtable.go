package relation

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
)

// A hashTable finds the rows of the build side of a join by their keys. A row with a null in its key is in the table, for
// joins that keep it, but is never found. Floats are equal as in other comparisons: by their total order.
type hashTable struct {
	exprs []*plan.Bound
	write []sortkey.Append
	short bool             // keys have at most 8 bytes
	words map[uint64]chain // short keys
	texts map[string]chain // other keys
	next  []int32          // the next row with the same key, or -1
	nulls bool             // some key has a null
}

// A chain is the first and the last row with a key.
type chain struct{ first, last int32 }

func newHashTable(keys []*plan.Bound) *hashTable {
	t := &hashTable{exprs: keys, short: len(keys) == 1 && sortkey.HavePairs(keys[0].Type()), words: map[uint64]chain{}, texts: map[string]chain{}}
	for _, key := range keys {
		t.write = append(t.write, sortkey.Of(key.Type(), true))
	}
	return t
}

// hashable returns an error if values of a type cannot be the key of a join.
func hashable(t arrow.DataType, pos int) error {
	if sortkey.Of(t, true) == nil {
		return sql.Errorf(sql.ErrUnsupported, pos, "a join by values of type %s", t)
	}
	return nil
}

func (t *hashTable) len() int { return len(t.next) }

// entryBytes is the memory of a row in the table without the bytes of its key.
const entryBytes = 96

// mostRows is the largest number of rows in a table, whose numbers have 31 bits.
const mostRows = 1<<31 - 1

// add adds the rows of a batch.
func (t *hashTable) add(ctx context.Context, batch arrow.RecordBatch) error {
	keys, err := t.keys(ctx, t.exprs, batch)
	if err != nil {
		return err
	}
	defer keys.release()
	if int64(len(t.next))+batch.NumRows() > mostRows {
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "a join keeps more than %d rows in memory", mostRows)
	}
	if _, err := memory.Take(ctx, keys.bytes+entryBytes*batch.NumRows()); err != nil {
		return err
	}
	for i := range int(batch.NumRows()) {
		row := int32(len(t.next))
		t.next = append(t.next, -1)
		key, null := keys.at(i)
		if null {
			t.nulls = true
			continue
		}
		if t.short {
			w := sortkey.Word(key)
			c, ok := t.words[w]
			if ok {
				t.next[c.last] = row
			} else {
				c.first = row
			}
			t.words[w] = chain{c.first, row}
		} else if c, ok := t.texts[string(key)]; ok {
			t.next[c.last] = row
			t.texts[string(key)] = chain{c.first, row}
		} else {
			t.texts[string(key)] = chain{row, row}
		}
	}
	return nil
}

// first returns the first row with the key of a row, or -1.
func (t *hashTable) first(keys *rowKeys, i int) int32 {
	key, null := keys.at(i)
	if null {
		return -1
	}
	var c chain
	var ok bool
	if t.short {
		c, ok = t.words[sortkey.Word(key)]
	} else {
		c, ok = t.texts[string(key)]
	}
	if !ok {
		return -1
	}
	return c.first
}

// rowKeys are the keys of the rows of a batch.
type rowKeys struct {
	columns []arrow.Array
	write   []sortkey.Append
	bytes   int64
	buffer  []byte
	held    memory.Hold
}

// keys computes the keys of a batch. The caller releases them.
func (t *hashTable) keys(ctx context.Context, exprs []*plan.Bound, batch arrow.RecordBatch) (*rowKeys, error) {
	columns, held, err := evaluated(ctx, exprs, batch)
	if err != nil {
		return nil, err
	}
	k := &rowKeys{columns: columns, write: t.write, held: held}
	for _, c := range columns {
		k.bytes += sortkey.Bytes(c)
	}
	return k, nil
}

func (k *rowKeys) release() { k.held.Release() }

// null reports whether the key of a row has a null.
func (k *rowKeys) null(i int) bool {
	for _, c := range k.columns {
		if c.IsNull(i) {
			return true
		}
	}
	return false
}

// at returns the key of a row, until the next call.
func (k *rowKeys) at(i int) (key []byte, null bool) {
	if k.null(i) {
		return nil, true
	}
	k.buffer = k.buffer[:0]
	for c, write := range k.write {
		k.buffer = write(k.buffer, k.columns[c], i)
	}
	return k.buffer, false
}
