package indexmeta

import "encoding/json"

// A Recall is the measured quality of a vector index: the share of the truly nearest rows that its searches
// found when it was built. The queries are rows of the table.
type Recall struct {
	K        int              `json:"k"`       // nearest rows per query, without the row itself
	Queries  int              `json:"queries"` // number of queries
	Searches []MeasuredSearch `json:"searches"`
}

// A MeasuredSearch is the effort of a search, as in a request, and its recall.
type MeasuredSearch struct {
	Nprobes      int     `json:"nprobes"`
	RefineFactor int     `json:"refine_factor,omitempty"` // 0: none
	EF           int     `json:"ef,omitempty"`            // 0: the default
	Recall       float64 `json:"recall"`                  // from 0 to 1
}

// RecallHint is the runtime hint in the details of a vector index that holds its [Recall] as JSON. Native Lance keeps
// hints of other writers.
const RecallHint = "tiltyard.recall"

// parseRecall returns the recall in the hints of an index, or nil if there is none that can be read.
func parseRecall(hints map[string]string) *Recall {
	text, ok := hints[RecallHint]
	if !ok {
		return nil
	}
	r := new(Recall)
	if json.Unmarshal([]byte(text), r) != nil {
		return nil
	}
	return r
}

// Of returns the best measured search that takes no more effort than the given one, or nil. An effort of 0 probes is all
// partitions, and an EF of 0 is the default.
func (r *Recall) Of(nprobes, refineFactor, ef int) *MeasuredSearch {
	var best *MeasuredSearch
	if r == nil {
		return nil
	}
	for i := range r.Searches {
		s := &r.Searches[i]
		if (nprobes == 0 || s.Nprobes <= nprobes) && s.RefineFactor <= refineFactor && s.EF <= ef && (best == nil || s.Recall > best.Recall) {
			best = s
		}
	}
	return best
}

// Better returns the first measured search with a recall of at least 0.95, or else the best, if it is better than the given
// recall by more than the error of the measurement. The searches are ordered by effort.
func (r *Recall) Better(recall float64) *MeasuredSearch {
	const enough, difference = 0.95, 0.02
	var best *MeasuredSearch
	if r == nil || recall >= enough {
		return nil
	}
	for i := range r.Searches {
		s := &r.Searches[i]
		if best == nil || s.Recall > best.Recall {
			best = s
		}
		if s.Recall >= enough {
			break
		}
	}
	if best == nil || best.Recall < recall+difference {
		return nil
	}
	return best
}
