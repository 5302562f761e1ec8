package take

import "github.com/apache/arrow-go/v18/arrow"

const (
	// indexBytes is what the join of dictionaries makes for each index: its place among the items
	// of all, the same in the width of the column, and that in the joined column.
	indexBytes = 4 + 4 + 4
	// itemBytes is what it makes for each item of a dictionary beside its value: where it is
	// among those of all, by its own place and by its value.
	itemBytes = 8 + 64
)

// A Tally counts the memory of batches of one schema that are to be joined, as they come. What
// several batches lie in together, as slices do, counts once. The zero Tally has counted
// nothing.
type Tally struct {
	rows, more int64
	seen       map[buffer]bool
}

// A buffer is one of an array at some place of a schema.
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

// Rows is how many bytes the batches take.
func (t *Tally) Rows() int64 { return t.rows }

// Joined is the most bytes that [Concat] allocates for the batches.
func (t *Tally) Joined() int64 { return t.rows + t.more }

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
	if values := t.rows - before; values > 0 { // by which it is found, and which are put together
		t.more += 2*values + itemBytes*int64(d.Dictionary().Len())
	}
}

// BatchBytes returns how much memory a batch takes.
func BatchBytes(batch arrow.RecordBatch) int64 {
	total := int64(0)
	for _, c := range batch.Columns() {
		total += int64(c.Data().SizeInBytes())
	}
	return total
}
