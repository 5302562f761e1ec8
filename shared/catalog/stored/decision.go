package stored

import "slices"

// BatchesPrefix is the prefix of the keys of decisions. The name of the batch follows.
const BatchesPrefix = "_batches/"

// A Decision is the object that decides a batch: see package batch.
type Decision struct {
	Outcome Outcome    `json:"outcome"`
	Tables  [][]string `json:"tables,omitempty"` // the tables of the batch, if it committed
	// Removed are the records that the batch removed. A repeated request finds its results in them.
	Removed []*Table `json:"removed,omitempty"`
}

// An Outcome is the result of a batch.
type Outcome string

// These are the outcomes of batches.
const (
	Undecided Outcome = ""
	Committed Outcome = "committed"
	Aborted   Outcome = "aborted"
)

// RemovedTable returns the record of a table that a batch deregistered, nil if it did not.
func (d *Decision) RemovedTable(id []string) *Table {
	if d == nil {
		return nil
	}
	for _, record := range d.Removed {
		if slices.Equal(record.ID, id) {
			return record
		}
	}
	return nil
}
