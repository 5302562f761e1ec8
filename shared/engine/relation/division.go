package relation

import (
	"context"
	"hash/maphash"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
)

// divisionParts is into how many parts a join is divided whose build side does not fit into memory.
const divisionParts = 32

// A division has the rows of both sides of a join in scratch files: rows with equal keys are in parts with one number.
type division struct {
	build, probe *parts
	held         memory.Hold // for the buffers of the files
}

func (d *division) close() {
	d.held.Release()
	d.build.close()
	d.probe.close()
}

// parts are the rows of a side, by the hashes of their keys.
type parts struct {
	exprs  []*plan.Bound
	write  []sortkey.Append
	seed   maphash.Seed
	spools [divisionParts]spool
	rows   [divisionParts][]int32 // of a batch
	nulls  bool                   // some key has a null
}

func newParts(exprs []*plan.Bound, seed maphash.Seed) *parts {
	p := &parts{exprs: exprs, seed: seed}
	for _, e := range exprs {
		p.write = append(p.write, sortkey.Of(e.Type(), true))
	}
	return p
}

func (p *parts) close() {
	for i := range p.spools {
		p.spools[i].close()
	}
}

// add writes the rows of a batch.
func (p *parts) add(ctx context.Context, batch arrow.RecordBatch) error {
	columns, held, err := evaluated(ctx, p.exprs, batch)
	if err != nil {
		return err
	}
	defer held.Release()
	var key []byte
	for i := range int(batch.NumRows()) {
		key = key[:0]
		for c, write := range p.write {
			p.nulls = p.nulls || columns[c].IsNull(i)
			key = write(key, columns[c], i)
		}
		at := maphash.Bytes(p.seed, key) % divisionParts
		p.rows[at] = append(p.rows[at], int32(i))
	}
	for i := range p.spools {
		if err := p.addTo(ctx, i, batch); err != nil {
			return err
		}
	}
	return nil
}

// addTo writes the rows of a batch that are in a part.
func (p *parts) addTo(ctx context.Context, part int, batch arrow.RecordBatch) error {
	s, rows := &p.spools[part], p.rows[part]
	p.rows[part] = rows[:0]
	if len(rows) == 0 {
		return nil
	}
	if s.len() == 0 {
		if err := s.begin(batch.Schema()); err != nil {
			return err
		}
	}
	some, release, err := chosen(ctx, batch, rows)
	if err != nil {
		return err
	}
	defer release()
	return s.add(some)
}

// end ends all parts.
func (p *parts) end() error {
	for i := range p.spools {
		if s := &p.spools[i]; s.len() > 0 {
			if err := s.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// of yields the rows of a part.
func (p *parts) of(ctx context.Context, part int) iter.Seq2[arrow.RecordBatch, error] {
	if p.spools[part].len() == 0 {
		return func(func(arrow.RecordBatch, error) bool) {}
	}
	return p.spools[part].runs[0].rows(ctx)
}

// divide begins a division with the batches of the build side that are in memory.
func (r *joining) divide(ctx context.Context, batches []arrow.RecordBatch) error {
	seed := maphash.MakeSeed()
	r.divided = &division{build: newParts(r.build.keys, seed), probe: newParts(r.probe.keys, seed)}
	for _, batch := range batches {
		if err := r.divided.build.add(ctx, batch); err != nil {
			return err
		}
	}
	r.clear()
	return r.divided.held.Resize(ctx, 2*divisionParts*bufferBytes)
}

// parts joins the sides part by part.
func (r *joining) parts(ctx context.Context, yield func(arrow.RecordBatch, error) bool) error {
	for batch, err := range batchesOf(ctx, r.probe.step) {
		if err == nil {
			err = r.divided.probe.add(ctx, batch)
		}
		if err != nil {
			return err
		}
	}
	if err := r.divided.probe.end(); err != nil {
		return err
	}
	for i := range divisionParts {
		if err := r.loadPart(ctx, i); err != nil {
			return err
		}
		if err := r.matchAll(ctx, r.divided.probe.of(ctx, i), yield); err != nil {
			return err
		}
		r.clear()
	}
	return nil
}

// loadPart reads a part of the build side.
func (r *joining) loadPart(ctx context.Context, part int) error {
	r.table = newHashTable(r.build.keys, r.nullsEqual)
	var batches []arrow.RecordBatch
	for batch, err := range r.divided.build.of(ctx, part) {
		if err != nil {
			return err
		}
		kept, err := r.keep(ctx, batch)
		if err != nil {
			return err
		}
		if !kept {
			return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "a side of a join is too large, or too many of its rows have the same key: add conditions")
		}
		batches = append(batches, batch)
	}
	return r.index(ctx, batches)
}
