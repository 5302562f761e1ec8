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

// A Round is fragments whose values several workers compute at the same time, each for some rows
// ([Part]). Rows of one fragment may be several workers'; their pieces are joined
// ([Join]). One worker commits the round and plans the next one ([Commit]).
//
// All parts read one version. A fragment that is another one when the round is committed is computed
// again in the next round. It is part of the state of jobs.
type Round struct {
	Result           // of the rounds before
	Version   int64  `json:"version"`         // that the parts read
	Fragments []byte `json:"fragments"`       // ids of those that are filled, as a roaring bitmap
	Stale     []byte `json:"stale,omitempty"` // those of them whose values do not count
	Rest      []byte `json:"rest,omitempty"`  // those of the rounds after it
	Parts     int    `json:"parts"`
	Filled    int    `json:"filled,omitempty"` // fragments that the rounds before have filled
	Redone    int    `json:"redone,omitempty"` // rounds whose fragments others have changed
}

// Sizes bound the parts of backfills.
type Sizes struct {
	Whole int64 // rows that one worker computes without parts
	Rows  int64 // that a part should compute by an expression
	Calls int64 // rows that a part should compute by a function
	Parts int   // most parts at a time
	// CallParts is the most parts for a function: a round is committed when all parts are done, and it is
	// not known how long a function takes.
	CallParts int
}

// unitsOfPart is how many times the rows of a part it gets when there are fewer parts than there should be.
const unitsOfPart = 5

// Divided is the error that ends a backfill which is to be done in parts.
type Divided struct{ Round *Round }

// Error describes the first round.
func (d *Divided) Error() string {
	return fmt.Sprintf("the backfill is done in parts: %d for its first round", d.Round.Parts)
}

// divide returns a [*Divided] for a backfill of a version that is to be done in parts.
func divide(ctx context.Context, t *engine.Table, d *dataset.Dataset, c *computed.Column, b Order) error {
	rows, divisible := int64(0), true
	for _, f := range d.Manifest().Fragments {
		rows += fragment.LiveRows(f)
		divisible = divisible && f.PhysicalRows > 0 && f.ID <= math.MaxUint32 // early writers of Lance did not count rows
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
	if b.Version != nil { // its fragments are filled as they are now
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

// planRound makes a round of the first of some fragments of a version.
func planRound(ctx context.Context, t *engine.Table, d *dataset.Dataset, c *computed.Column, b Order, r *Round, todo *roaring.Bitmap) error {
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

// perRound bounds the fragments of a round, and by that the results of its parts.
const perRound = 1000

// setOf reads a set of fragments.
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

// Rows returns how many rows the fragments of a round have, deleted ones too.
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

// Commit commits the pieces of a round, each of all rows of a fragment, and returns the next round,
// nil after the last one. The order has the sizes of parts. It may be called again after a crash.
func Commit(ctx context.Context, t *engine.Table, b Order, r Round, pieces []Piece) (next *Round, result Result, err error) {
	p := publishing{table: t, order: b, pieces: pieces}
	err = engine.Do(ctx, t, &r.Version, p.open)
	if protocol.HasCode(err, protocol.TableVersionNotFound) { // it was cleaned up
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

// A publishing is the commit of a round.
type publishing struct {
	table  *engine.Table
	order  Order
	pieces []Piece

	read   *dataset.Dataset // the version that the parts have read; nil when it is gone
	column *computed.Column // of that version
	fresh  staleness.Signatures
	fit    []Piece // of fragments that are as the parts have read them
	made   int64   // the newest version, if it has files of an earlier try
}

// open notes what is known of the version that the parts have read.
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

// commit commits the pieces that fit to the newest version. Without any it returns a nil dataset.
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

// A fitness is what a fragment is in a version, compared to the one that was read.
type fitness int

const (
	gone fitness = iota // or changed
	same
	done // it has the file of the piece: an earlier try has committed it
)

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
		if now == nil { // such as the address of a row
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
	// What a row that was deleted has in the file is no value, so it must still be deleted.
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

// plan makes the next round of the fragments that are left, if there are any.
func (p *publishing) plan(ctx context.Context, d *dataset.Dataset, next *Round, rest *roaring.Bitmap) error {
	c, err := computed.Open(ctx, d, p.order.Column, p.order.Where)
	if err != nil {
		return err
	}
	all := allFragments(d)
	if !roaring.AndNot(rest, all).IsEmpty() || p.read == nil { // a compaction has put rows into other fragments
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

// count counts the rows that are left out.
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
