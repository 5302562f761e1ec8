package fill

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/internal/staleness"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// A Round is a set of fragments whose values several workers compute at the same time, each a range
// of rows ([Part]). Several workers may compute rows of the same fragment; their pieces are joined
// ([Join]). One worker commits the round and plans the next one ([Commit]).
//
// All parts read one version. If a fragment changes before the round is committed, the next round
// computes it again. A round is part of the state of a job.
type Round struct {
	Result           // sum of the rounds before
	Version   int64  `json:"version"`         // version that the parts read
	Fragments []byte `json:"fragments"`       // ids of the fragments to fill, as a roaring bitmap
	Stale     []byte `json:"stale,omitempty"` // subset whose existing values are out of date
	Rest      []byte `json:"rest,omitempty"`  // fragments for later rounds
	Parts     int    `json:"parts"`
	Filled    int    `json:"filled,omitempty"` // fragments that earlier rounds filled
	Redone    int    `json:"redone,omitempty"` // number of rounds with fragments that were changed concurrently
}

// Sizes bound the parts of backfills.
type Sizes struct {
	Whole int64 // a table with at most this number of rows is not divided
	Rows  int64 // rows per part, for an expression
	Calls int64 // rows per part, for a function
	Parts int   // maximum number of parts at a time
	// CallParts is the maximum number of parts for a function. It is separate, because a round ends
	// with its slowest part, and the duration of a function is unknown.
	CallParts int
}

// unitsOfPart bounds the rows of a part to this multiple of the usual number, in a round with the
// maximum number of parts.
const unitsOfPart = 5

// Divided is the error of a backfill that must be done in parts.
type Divided struct{ Round *Round }

// Error describes the first round.
func (d *Divided) Error() string {
	return fmt.Sprintf("the backfill is done in parts: %d for its first round", d.Round.Parts)
}

// divide returns a [*Divided] if a backfill of a version must be done in parts.
func divide(ctx context.Context, t *engine.Table, d *dataset.Dataset, c *computed.Column, b Order) error {
	rows, divisible := int64(0), true
	for _, f := range d.Manifest().Fragments {
		rows += fragment.LiveRows(f)
		divisible = divisible && f.PhysicalRows > 0 && f.ID <= math.MaxUint32 // early writers of Lance did not record the number of rows
	}
	if version, err := d.Manifest().FileVersion(); err != nil || version == lance.Legacy || !divisible {
		return err
	}
	most := b.Sizes.Whole
	if c.Binding != nil {
		most = min(most, b.Sizes.Calls)
	}
	if rows <= most {
		return nil
	}
	r := &Round{Result: Result{Source: int64(d.Version())}}
	scope := allFragments(d)
	plan := func(ctx context.Context, d *dataset.Dataset) error {
		c, err := computed.Open(ctx, d, b.Column, b.Where)
		if err != nil {
			return err
		}
		if all := allFragments(d); !roaring.AndNot(scope, all).IsEmpty() {
			scope = all
		}
		return planRound(ctx, t, d, c, b, r, scope)
	}
	if b.Version != nil { // the fragments of that version are filled in their present state
		if err := engine.Do(ctx, t, nil, plan); err != nil {
			return err
		}
	} else if err := plan(ctx, d); err != nil {
		return err
	}
	return &Divided{r}
}

// allFragments returns the ids of all fragments.
func allFragments(d *dataset.Dataset) *roaring.Bitmap {
	all := roaring.New()
	for _, f := range d.Manifest().Fragments {
		all.Add(uint32(f.ID))
	}
	return all
}

// planRound plans a round with the first fragments of todo in a version.
func planRound(ctx context.Context, t *engine.Table, d *dataset.Dataset, c *computed.Column, b Order, r *Round, todo *roaring.Bitmap) error {
	// A function is slower than an expression, so its parts are smaller and fewer.
	perPart, most := b.Sizes.Rows, b.Sizes.Parts
	if c.Binding != nil {
		perPart, most = b.Sizes.Calls, min(most, b.Sizes.CallParts)
	}
	if b.Parts > 0 {
		most = min(most, b.Parts)
	}
	stamp, err := stampOf(ctx, t, d, c)
	if err != nil {
		return err
	}
	now, stale, rest := roaring.New(), roaring.New(), todo.Clone()
	rows := int64(0)
	for _, f := range d.Manifest().Fragments {
		id := uint32(f.ID)
		if !todo.Contains(id) {
			continue
		}
		// The first fragment always fits, so that each round makes progress.
		if n := int(now.GetCardinality()); n > 0 && (b.PerCommit > 0 && n >= b.PerCommit || b.Rows > 0 && rows >= b.Rows ||
			b.Fragments > 0 && n >= b.Fragments-r.Filled || n >= perRound || rows >= perPart*int64(most)*unitsOfPart) {
			break
		}
		now.Add(id)
		rest.Remove(id)
		if stamp.IsStale(f.ID) {
			stale.Add(id)
		}
		rows += int64(f.PhysicalRows)
	}
	r.Version = int64(d.Version())
	r.Parts = int(min(max((rows+perPart-1)/perPart, 1), int64(most)))
	for _, set := range []struct {
		into *[]byte
		ids  *roaring.Bitmap
	}{{&r.Fragments, now}, {&r.Stale, stale}, {&r.Rest, rest}} {
		if *set.into, err = set.ids.ToBytes(); err != nil {
			return err
		}
	}
	return nil
}

// perRound bounds the number of fragments in a round, and thereby the size of its results.
const perRound = 1000

// setOf decodes a set of fragments. Nil is the empty set.
func setOf(encoded []byte) (*roaring.Bitmap, error) {
	set := roaring.New()
	if len(encoded) == 0 {
		return set, nil
	}
	if err := set.UnmarshalBinary(encoded); err != nil {
		return nil, fmt.Errorf("fragments of a round: %w", err)
	}
	return set, nil
}

// Rows returns the number of physical rows in the fragments of a round, including deleted ones.
func Rows(ctx context.Context, t *engine.Table, r *Round) (rows int64, err error) {
	ids, err := setOf(r.Fragments)
	if err != nil {
		return 0, err
	}
	err = engine.Do(ctx, t, &r.Version, func(_ context.Context, d *dataset.Dataset) error {
		for _, f := range d.Manifest().Fragments {
			if ids.Contains(uint32(f.ID)) {
				rows += int64(f.PhysicalRows)
			}
		}
		return nil
	})
	return rows, err
}

// Commit commits the pieces of a round, one for each fragment with all of its rows, and plans the
// next round. next is nil after the last one. b contains the sizes of parts. It is safe to call
// Commit again after a crash.
func Commit(ctx context.Context, t *engine.Table, b Order, r Round, pieces []Piece) (next *Round, result Result, err error) {
	p := publishing{table: t, order: b, pieces: pieces}
	err = engine.Do(ctx, t, &r.Version, p.open)
	if protocol.HasCode(err, protocol.TableVersionNotFound) { // the version was cleaned up
		p.read, err = nil, nil
	}
	if err != nil {
		return nil, result, err
	}
	done, err := t.Alter(ctx, p.commit)
	switch {
	case err != nil:
		return nil, result, err
	case done.Version > 0:
		r.Published = &done.Version
	case p.made > 0:
		r.Published = &p.made
	}
	if len(p.fresh) > 0 {
		if done, err = noteFresh(ctx, t, b.Column, p.fresh); err != nil {
			return nil, result, err
		}
		r.Published = &done.Version
	}
	rest, err := setOf(r.Rest)
	if err != nil {
		return nil, result, err
	}
	again, err := setOf(r.Fragments)
	if err != nil {
		return nil, result, err
	}
	for _, piece := range p.fit {
		r.Assigned += piece.Assigned
		r.Failed += piece.Failed
		if piece.File != nil {
			r.Filled++
		}
		again.Remove(uint32(piece.Fragment))
	}
	if b.Where == "" && len(p.fit) > 0 {
		r.Redone = 0
	}
	if !again.IsEmpty() {
		if r.Redone++; r.Redone > maxTries {
			return nil, result, protocol.Errorf(protocol.ConcurrentModification, "table %s is changed faster than column %q can be filled; retry", t.Name(), b.Column)
		}
	}
	for it := again.Iterator(); it.HasNext() && b.Again != nil; {
		if err := b.Again(ctx, uint64(it.Next())); err != nil {
			return nil, result, err
		}
	}
	rest.Or(again)
	next = &Round{Result: r.Result, Filled: r.Filled, Redone: r.Redone}
	if err := engine.Do(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) error { return p.plan(ctx, d, next, rest) }); err != nil {
		return nil, result, err
	}
	if len(next.Fragments) == 0 {
		return nil, next.Result, nil
	}
	return next, next.Result, nil
}

// A publishing is the running commit of a round.
type publishing struct {
	table  *engine.Table
	order  Order
	pieces []Piece

	read   *dataset.Dataset // the version that the parts read; nil if it was cleaned up
	column *computed.Column // of that version
	fresh  staleness.Signatures
	fit    []Piece // pieces whose fragments are unchanged since that version
	made   int64   // the newest version, if it contains files of an earlier try
}

// open loads the version that the parts read, and its record of inputs.
func (p *publishing) open(ctx context.Context, d *dataset.Dataset) error {
	c, err := computed.Open(ctx, d, p.order.Column, p.order.Where)
	if err != nil {
		return err
	}
	stamp, err := stampOf(ctx, p.table, d, c)
	p.read, p.column, p.fresh = d, c, staleness.Signatures{}
	maps.Copy(p.fresh, stamp.Carried)
	if stamp.Absent {
		maps.Copy(p.fresh, stamp.Now)
	}
	for _, piece := range p.pieces {
		if signature, ok := stamp.Now[uint32(piece.Fragment)]; ok && piece.Whole {
			p.fresh[uint32(piece.Fragment)] = signature
		}
	}
	return err
}

// commit commits the pieces that still fit the newest version. If there are none, it returns a nil
// dataset.
func (p *publishing) commit(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
	c, err := computed.Open(ctx, d, p.order.Column, p.order.Where)
	if err != nil {
		return nil, err
	}
	var files []pb.FileReplacement
	p.fit = nil
	for _, piece := range p.pieces {
		is, err := p.fits(ctx, d, c, &piece)
		if err != nil {
			return nil, err
		}
		if is == gone {
			delete(p.fresh, uint32(piece.Fragment))
			continue
		}
		p.fit = append(p.fit, piece)
		// An earlier try has committed the piece, and crashed afterwards.
		if is == done {
			p.made = int64(d.Version())
		}
		if piece.File != nil && is == same {
			files = append(files, pb.FileReplacement{FragmentID: piece.Fragment, NewFile: *piece.File})
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	return d.Commit(ctx, &pb.DataReplacement{Replacements: files})
}

// A fitness compares a fragment in the newest version with the version that was read.
type fitness int

const (
	gone fitness = iota // deleted or changed
	same
	done // has the file of the piece: an earlier try has committed it
)

// fits reports whether the piece still fits its fragment in the newest version: the inputs and the
// column must be the same.
func (p *publishing) fits(ctx context.Context, d *dataset.Dataset, c *computed.Column, piece *Piece) (fitness, error) {
	is := d.Fragment(piece.Fragment)
	if is == nil || p.read == nil || c.Definition != p.column.Definition {
		return gone, nil
	}
	if piece.File != nil && slices.ContainsFunc(is.Meta.Files, func(f pb.DataFile) bool { return f.Path == piece.File.Path }) {
		return done, nil
	}
	was := p.read.Fragment(piece.Fragment)
	if was == nil || piece.From != 0 || piece.To != was.Rows {
		return gone, nil
	}
	var fields []int32
	for _, name := range c.Columns() {
		now, before := d.Schema().Field(name), p.read.Schema().Field(name)
		if now == nil { // not a column of the schema, such as the row address
			continue
		}
		if before == nil || now.ID != before.ID {
			return gone, nil
		}
		for f := range (&schema.Schema{Fields: []*schema.Field{now}}).All() {
			fields = append(fields, f.ID)
		}
	}
	if !is.SameColumns(was, fields) {
		return gone, nil
	}
	if is.SameDeletions(was) {
		return same, nil
	}
	// The file has no valid value for a deleted row, so the row must still be deleted.
	deleted, err := was.Deletions(ctx)
	if err != nil {
		return gone, err
	}
	now, err := is.Deletions(ctx)
	if err != nil || deleted.Len() > 0 && deleted.Minus(now).Len() > 0 {
		return gone, err
	}
	return same, nil
}

// plan plans the next round from the remaining fragments, if there are any.
func (p *publishing) plan(ctx context.Context, d *dataset.Dataset, next *Round, rest *roaring.Bitmap) error {
	c, err := computed.Open(ctx, d, p.order.Column, p.order.Where)
	if err != nil {
		return err
	}
	all := allFragments(d)
	if !roaring.AndNot(rest, all).IsEmpty() || p.read == nil { // a compaction has moved rows to other fragments
		rest = all
	}
	switch {
	case rest.IsEmpty():
		return nil
	case p.order.Fragments > 0 && next.Filled >= p.order.Fragments:
		return p.count(ctx, d, c, next, rest)
	}
	return planRound(ctx, p.table, d, c, p.order, next, rest)
}

// count adds the rows of fragments beyond the bound to r.Remaining.
func (p *publishing) count(ctx context.Context, d *dataset.Dataset, c *computed.Column, r *Round, rest *roaring.Bitmap) error {
	stamp, err := stampOf(ctx, p.table, d, c)
	if err != nil {
		return err
	}
	for _, at := range d.Fragments() {
		if !rest.Contains(uint32(at.Meta.ID)) {
			continue
		}
		n, err := c.Count(ctx, at, stamp.IsStale(at.Meta.ID))
		if err != nil {
			return err
		}
		r.Remaining += n
	}
	return nil
}
