package fill

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/pb"
)

// A Piece is the result of a part: the values of consecutive rows in a fragment.
type Piece struct {
	Fragment uint64
	computed.Filled
}

// storedPiece is the JSON form of a piece in the state of a job.
type storedPiece struct {
	Fragment uint64 `json:"f"`
	From     int64  `json:"a,omitempty"`
	To       int64  `json:"z"`
	File     []byte `json:"d,omitempty"` // encoded as in a manifest
	Assigned int64  `json:"n,omitempty"`
	Failed   int64  `json:"e,omitempty"`
	Whole    bool   `json:"w,omitempty"`
}

// MarshalJSON writes the piece.
func (p Piece) MarshalJSON() ([]byte, error) {
	s := storedPiece{p.Fragment, p.From, p.To, nil, p.Assigned, p.Failed, p.Whole}
	if p.File != nil {
		var e pb.Encoder
		p.File.Marshal(&e)
		s.File = e.B
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads a piece.
func (p *Piece) UnmarshalJSON(text []byte) error {
	var s storedPiece
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*p = Piece{Fragment: s.Fragment, Filled: computed.Filled{
		ColumnPiece: alter.ColumnPiece{From: s.From, To: s.To}, Assigned: s.Assigned, Failed: s.Failed, Whole: s.Whole,
	}}
	if len(s.File) == 0 {
		return nil
	}
	p.File = new(pb.DataFile)
	if err := p.File.Unmarshal(s.File); err != nil {
		return fmt.Errorf("piece of fragment %d: %w", s.Fragment, err)
	}
	return nil
}

const (
	// unitTime is the time after which a part writes the computed rows of one fragment to a file.
	unitTime = time.Minute
	// keepEvery is the minimum time between two records of a part's pieces in the job.
	keepEvery = 20 * time.Second
	// maxPieces bounds the pieces per fragment in the record of a part. At this number they are joined.
	maxPieces = 50
)

// rowsOf returns the rows of a part by its number, from 0. The parts divide the rows of a round
// evenly.
func (r *Round) rowsOf(d *dataset.Dataset, part int) ([]fragment.Span, error) {
	ids, err := setOf(r.Fragments)
	if err != nil {
		return nil, err
	}
	var all []*fragment.Fragment
	for _, f := range d.Fragments() {
		if ids.Contains(uint32(f.Meta.ID)) {
			all = append(all, f)
		}
	}
	if len(all) != int(ids.GetCardinality()) {
		return nil, fmt.Errorf("version %d has %d of %d fragments of a round", d.Version(), len(all), ids.GetCardinality())
	}
	return fragment.Share(all, part, r.Parts), nil
}

// Part computes the rows of one part of a round. part counts from 0. It skips the rows in pieces,
// which an earlier try has computed. From time to time it calls keep with all pieces so far, and it
// returns them at the end.
func Part(ctx context.Context, t *engine.Table, b Order, r *Round, part int, pieces []Piece, keep func(context.Context, []Piece) error) ([]Piece, error) {
	w := partWork{filling: filling{table: t, order: b}, pieces: pieces, keep: keep}
	defer w.close()
	err := engine.Do(ctx, t, &r.Version, func(ctx context.Context, d *dataset.Dataset) error { return w.work(ctx, d, r, part) })
	return w.pieces, err
}

// A partWork is the running computation of a part.
type partWork struct {
	filling
	pieces []Piece
	keep   func(context.Context, []Piece) error
	kept   time.Time

	done, assigned, total int64
}

// work computes the rows of a part that are not covered by pieces.
func (w *partWork) work(ctx context.Context, d *dataset.Dataset, r *Round, part int) error {
	stale, err := setOf(r.Stale)
	if err != nil {
		return err
	}
	rows, err := r.rowsOf(d, part)
	if err != nil {
		return err
	}
	c, err := w.column(ctx, d)
	if err != nil {
		return err
	}
	for _, s := range rows {
		w.total += s.To - s.From
	}
	covered := map[uint64]int64{} // by fragment, the end of the last piece
	for _, p := range w.pieces {
		covered[p.Fragment] = p.To
		w.done += p.To - p.From
		w.assigned += p.Assigned
	}
	w.kept = time.Now()
	for _, s := range rows {
		if to, ok := covered[s.At.Meta.ID]; ok {
			s.From = to
		} else if err := c.CheckInputs(ctx, []fragment.Span{s}); err != nil {
			return err
		}
		for s.From < s.To {
			if err := w.fill(ctx, d, c, &s, stale.Contains(uint32(s.At.Meta.ID))); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill computes the next piece, and removes its rows from s.
func (w *partWork) fill(ctx context.Context, d *dataset.Dataset, c *computed.Column, s *fragment.Span, stale bool) error {
	began := time.Now()
	id := s.At.Meta.ID
	filled, err := c.Fill(ctx, computed.Filling{
		Span: *s, Stale: stale, Failed: w.failed(c, id, s.From),
		Enough: func() bool { return time.Since(began) >= unitTime || isLate(ctx) },
	})
	if err == nil && w.order.Save != nil {
		err = w.order.Save(ctx, int64(d.Version()))
	}
	if err != nil {
		return err
	}
	w.pieces = append(w.pieces, Piece{id, filled})
	w.done += filled.To - filled.From
	w.assigned += filled.Assigned
	if w.order.Progress != nil {
		w.order.Progress(w.done, w.total, w.assigned)
	}
	s.From = filled.To
	if err := w.merge(ctx, c, s.At); err != nil {
		return err
	}
	if time.Since(w.kept) < keepEvery && !isLate(ctx) {
		return nil
	}
	w.kept = time.Now()
	return w.keep(ctx, w.pieces)
}

// isLate reports whether the deadline of a context is near.
func isLate(ctx context.Context) bool {
	until, ok := ctx.Deadline()
	return ok && time.Until(until) < commitMargin
}

// merge joins the pieces of a fragment if there are too many.
func (w *partWork) merge(ctx context.Context, c *computed.Column, at *fragment.Fragment) error {
	first := len(w.pieces)
	for first > 0 && w.pieces[first-1].Fragment == at.Meta.ID {
		first--
	}
	if len(w.pieces)-first < maxPieces {
		return nil
	}
	joined, err := joinPieces(ctx, c, at, w.pieces[first:])
	w.pieces = append(w.pieces[:first], joined)
	return err
}

// joinPieces joins consecutive pieces of a fragment, and their files.
func joinPieces(ctx context.Context, c *computed.Column, at *fragment.Fragment, pieces []Piece) (Piece, error) {
	joined := pieces[0]
	parts := make([]alter.ColumnPiece, len(pieces))
	hasFile := false
	for i, p := range pieces {
		parts[i] = p.ColumnPiece
		hasFile = hasFile || p.File != nil
		if i > 0 {
			joined.To = p.To
			joined.Assigned += p.Assigned
			joined.Failed += p.Failed
			joined.Whole = joined.Whole && p.Whole
		}
	}
	if len(pieces) == 1 || !hasFile {
		return joined, nil
	}
	var err error
	joined.ColumnPiece, err = c.Join(ctx, at, parts)
	return joined, err
}

// Join joins the pieces of one fragment of a round, in their order, into a piece with all rows.
func Join(ctx context.Context, t *engine.Table, b Order, r *Round, pieces []Piece) (Piece, error) {
	return engine.Read(ctx, t, &r.Version, func(ctx context.Context, d *dataset.Dataset) (Piece, error) {
		at := d.Fragment(pieces[0].Fragment)
		if at == nil {
			return Piece{}, fmt.Errorf("version %d has no fragment %d of a round", d.Version(), pieces[0].Fragment)
		}
		c, err := computed.Open(ctx, d, b.Column, b.Where)
		if err != nil {
			return Piece{}, err
		}
		joined, err := joinPieces(ctx, c, at, pieces)
		if err == nil && (joined.From != 0 || joined.To != at.Rows) {
			err = fmt.Errorf("the pieces of fragment %d are of rows %d to %d of %d", at.Meta.ID, joined.From, joined.To, at.Rows)
		}
		return joined, err
	})
}
