package take

import "github.com/apache/arrow-go/v18/arrow"

const (
	// indexBytes is the memory per index when dictionaries are merged: its item in the merged dictionary,
	// that number in the width of the column, and the index in the result.
	indexBytes = 4 + 4 + 4
	// itemBytes is the memory per dictionary item beside its value: its number in the merged dictionary, by
	// item and by value.
	itemBytes = 8 + 64
)

// A Tally sums up the memory of batches of one schema that will be concatenated. Buffers shared by several
// batches, as by slices, count once. The zero Tally is empty.
type Tally struct {
	rows, more int64
	seen       map[buffer]bool
}

// A buffer identifies a buffer of an array at one place in the schema.
type buffer struct {
	place int
	first *byte
	len   int
}

// Add counts a batch.
func (t *Tally) Add(batch arrow.RecordBatch) {
	if t.seen == nil {
		t.seen = map[buffer]bool{}
	}
	place := 0
	for _, c := range batch.Columns() {
		t.add(c.Data(), &place)
	}
}

// Rows returns the bytes of the batches.
func (t *Tally) Rows() int64 { return t.rows }

// Joined is the most bytes that [Concat] allocates for the batches.
func (t *Tally) Joined() int64 { return t.rows + t.more }

// add counts the buffers of an array and its children. place numbers the arrays of the schema in
// depth-first order, so that a buffer is only shared within one place.
func (t *Tally) add(d arrow.ArrayData, place *int) {
	*place++
	for _, b := range d.Buffers() {
		if b == nil || b.Len() == 0 {
			continue
		}
		if at := (buffer{*place, &b.Bytes()[0], b.Len()}); !t.seen[at] {
			t.seen[at] = true
			t.rows += int64(b.Len())
		}
	}
	for _, c := range d.Children() {
		t.add(c, place)
	}
	if d.DataType().ID() != arrow.DICTIONARY {
		return
	}
	before := t.rows
	t.add(d.Dictionary(), place)
	t.more += indexBytes * int64(d.Len()+8)
	if values := t.rows - before; values > 0 { // the keys of the lookup, and the merged values
		t.more += 2*values + itemBytes*int64(d.Dictionary().Len())
	}
}

// BatchBytes returns the memory of a batch.
func BatchBytes(batch arrow.RecordBatch) int64 {
	total := int64(0)
	for _, c := range batch.Columns() {
		total += int64(c.Data().SizeInBytes())
	}
	return total
}
