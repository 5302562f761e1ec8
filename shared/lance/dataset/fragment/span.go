package fragment

import "context"

// A Span is the run of physical rows [From, To) of a fragment.
type Span struct {
	At       *Fragment
	From, To int64
}

// Whole returns one span per fragment with all of its rows.
func Whole(fragments []*Fragment) []Span {
	all := make([]Span, len(fragments))
	for i, at := range fragments {
		all[i] = Span{at, 0, at.Rows}
	}
	return all
}

// Live counts the live rows of the span.
func (s Span) Live(ctx context.Context) (int64, error) {
	if s.From == 0 && s.To == s.At.Rows {
		return s.At.LiveRows(), nil
	}
	deleted, err := s.At.Deletions(ctx)
	if err != nil {
		return 0, err
	}
	return s.To - s.From - deleted.Deleted(s.From, s.To), nil
}

// Share returns the rows of one of several workers that divide fragments evenly. Cuts fall on
// fragment boundaries, except in fragments longer than a worker's rows.
func Share(fragments []*Fragment, worker, of int) []Span {
	total := int64(0)
	for _, f := range fragments {
		total += f.Rows
	}
	length := (total + int64(of) - 1) / int64(max(of, 1))
	var mine []Span
	before := int64(0) // rows of the preceding fragments
	for _, f := range fragments {
		cut := func(worker int) int64 {
			switch at := length*int64(worker) - before; {
			case at >= f.Rows:
				return f.Rows
			case at < length:
				return 0
			default:
				return at
			}
		}
		if from, to := cut(worker), cut(worker+1); from < to {
			mine = append(mine, Span{f, from, to})
		}
		before += f.Rows
	}
	return mine
}
