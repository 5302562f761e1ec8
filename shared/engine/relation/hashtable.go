package relation

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/engine/internal/numbering"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
)

// A hashTable finds the rows of the build side of a join by their keys. A row with a null in its key is in the table, for
// joins that keep it, but is never found, unless nulls are equal. Floats are equal as in other comparisons: by their total order.
type hashTable struct {
	exprs  []*plan.Bound
	keys   *numbering.Keys
	chains []chain // of the rows with a key, by its number
	next   []int32 // the next row with the same key, or -1
	nulls  bool    // some key has a null
	held   memory.Hold
	space  []uint32 // for the numbers of the keys of a batch
}

// A chain is the first and the last row with a key.
type chain struct{ first, last int32 }

const (
	chainBytes = 8
	nextBytes  = 4
)

// newHashTable returns a table without rows. Nulls tells whether a null equals others in keys.
func newHashTable(keys []*plan.Bound, nulls bool) *hashTable {
	t := &hashTable{exprs: keys}
	var types []arrow.DataType
	for _, key := range keys {
		types = append(types, key.Type())
	}
	t.keys = numbering.New(types, nulls)
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

// mostRows is the largest number of rows in a table, whose numbers have 31 bits.
const mostRows = 1<<31 - 1

// add adds the rows of a batch.
func (t *hashTable) add(ctx context.Context, batch arrow.RecordBatch) error {
	columns, evaluated, err := evaluated(ctx, t.exprs, batch)
	if err != nil {
		return err
	}
	defer evaluated.Release()
	rows := int(batch.NumRows())
	if len(t.next)+rows > mostRows {
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "a join keeps more than %d rows in memory", mostRows)
	}
	if err := t.held.Resize(ctx, t.bytes()+t.keys.Growth(columns, rows)+2*int64(len(t.next)+rows)*(chainBytes+nextBytes)); err != nil {
		return err
	}
	numbers := t.numbers(rows)
	t.keys.Number(columns, numbers)
	for _, n := range numbers {
		row := int32(len(t.next))
		t.next = append(t.next, -1)
		switch {
		case n == numbering.None:
			t.nulls = true
		case int(n) == len(t.chains):
			t.chains = append(t.chains, chain{row, row})
		default:
			t.next[t.chains[n].last] = row
			t.chains[n].last = row
		}
	}
	return t.held.Resize(ctx, t.bytes())
}

func (t *hashTable) bytes() int64 {
	return t.keys.Bytes() + chainBytes*int64(cap(t.chains)) + nextBytes*int64(cap(t.next))
}

// numbers returns space for the numbers of the keys of some rows, until the next call.
func (t *hashTable) numbers(rows int) []uint32 {
	if rows > cap(t.space) {
		t.space = make([]uint32, rows)
	}
	return t.space[:rows]
}

// first returns the first row with the key of a number, or -1.
func (t *hashTable) first(number uint32) int32 {
	if number == numbering.None {
		return -1
	}
	return t.chains[number].first
}

// find returns the numbers of the keys of a batch, until the next call.
func (t *hashTable) find(ctx context.Context, exprs []*plan.Bound, batch arrow.RecordBatch) (*rowKeys, error) {
	columns, held, err := evaluated(ctx, exprs, batch)
	if err != nil {
		return nil, err
	}
	k := &rowKeys{columns: columns, numbers: t.numbers(int(batch.NumRows())), held: held}
	t.keys.Find(columns, k.numbers)
	return k, nil
}

// rowKeys are the keys of the rows of a batch, and the numbers that the table has for them.
type rowKeys struct {
	columns []arrow.Array
	numbers []uint32
	held    memory.Hold
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
