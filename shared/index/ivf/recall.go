package ivf

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/process/memory"
)

const (
	recallQueries = 32 // of a measurement
	recallK       = 10
	// leastMeasured and mostMeasured bound the tables whose indices are measured: in rows, and in bytes of vectors. A small
	// table is searched well enough without an index; a large one takes too long to read again.
	leastMeasured, mostMeasured = 4096, 4 << 30
)

// efforts are the measured efforts, in ascending order: of kinds without and with graphs. The first is the default of
// LanceDB clients.
func (r Recipe) efforts() []indexmeta.MeasuredSearch {
	if r.hasGraph() {
		return []indexmeta.MeasuredSearch{{Nprobes: 20}, {Nprobes: 20, EF: 100}, {Nprobes: 20, RefineFactor: 2, EF: 100}, {Nprobes: 20, RefineFactor: 5, EF: 300}}
	}
	return []indexmeta.MeasuredSearch{
		{Nprobes: 20}, {Nprobes: 20, RefineFactor: 10}, {Nprobes: 80}, {Nprobes: 80, RefineFactor: 10},
		{Nprobes: 20, RefineFactor: 50}, {Nprobes: 80, RefineFactor: 50},
	}
}

// Measure implements index.Measured: it adds the recall to the details. The details are unchanged if the table is too
// small or too large, if its vectors are bits or lists, or if memory lacks.
func (v vectors) Measure(ctx context.Context, details []byte, segments []index.Files) ([]byte, error) {
	_, lists := vectorsOf(v.Field.Type)
	b, err := newBuild(v.recipe, v.Field.Type, v.Rows.Rows())
	if err != nil || lists || b.metric == vector.Hamming {
		return details, err
	}
	if rows := v.Rows.Rows(); rows < leastMeasured || float64(rows)*v.Rows.RowBytes() > mostMeasured {
		return details, nil
	}
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return details, err
	}
	defer room.Close()
	recall, err := b.measureRecall(ctx, v.Rows, segments)
	if memory.TooMuch(err) || err == nil && recall == nil {
		return details, nil
	}
	if err != nil {
		return nil, err
	}
	var d pb.VectorIndexDetails
	if err := d.Unmarshal(details); err != nil {
		return nil, err
	}
	text, err := json.Marshal(recall)
	if err != nil {
		return nil, err
	}
	if d.RuntimeHints == nil {
		d.RuntimeHints = map[string]string{}
	}
	d.RuntimeHints[indexmeta.RecallHint] = string(text)
	var e pb.Encoder
	d.Marshal(&e)
	return e.B, nil
}

// A trial is a query of a measurement.
type trial struct {
	exact  *vector.Query[float32]
	values []float64
	truth  []uint64 // the nearest rows, without the query itself
	self   uint64   // the row at distance 0 of the query, which is the query itself
}

// measureRecall searches the segments for some rows of the table, and compares the answers with the nearest of all rows.
// It returns nil if the table has too few vectors.
func (b *build) measureRecall(ctx context.Context, rows index.Source, segments []index.Files) (*indexmeta.Recall, error) {
	trials, err := b.trials(ctx, rows)
	if err == nil {
		err = b.findTruth(ctx, rows, trials)
	}
	if err != nil || len(trials) == 0 || len(trials[0].truth) < recallK {
		return nil, err
	}
	r := &indexmeta.Recall{K: recallK, Queries: len(trials), Searches: b.efforts()}
	tried := make(map[[2]int][]*vector.TopK)
	for i, effort := range r.Searches {
		// A search with many candidates also answers those with fewer, whose candidates are the nearest of its own.
		key := [2]int{effort.Nprobes, effort.EF}
		for _, other := range r.Searches {
			if other.Nprobes == effort.Nprobes && other.EF == effort.EF {
				effort.RefineFactor = max(effort.RefineFactor, other.RefineFactor)
			}
		}
		if tried[key] == nil {
			if tried[key], err = b.tryAll(ctx, effort, trials, segments); err != nil {
				return nil, err
			}
		}
		tops := tried[key]
		found := 0
		for j, t := range trials {
			found += t.found(tops[j], recallK*max(r.Searches[i].RefineFactor, 1))
		}
		// Three digits are more than 32 queries can tell.
		r.Searches[i].Recall = float64(1000*found/(recallK*len(trials))) / 1000
	}
	return r, nil
}

// trials returns queries from random rows.
func (b *build) trials(ctx context.Context, rows index.Source) ([]*trial, error) {
	sample := b.newSample(recallQueries)
	defer sample.held.Release()
	if err := sample.fill(ctx, rows); err != nil {
		return nil, err
	}
	var trials []*trial
	for i := range sample.vectors.Rows() {
		query := slices.Clone(sample.vectors.Values[i*b.dim:][:b.dim])
		exact, err := vector.NewQuery(b.grouping(), query)
		if err != nil {
			return nil, err
		}
		t := &trial{exact: exact, values: make([]float64, b.dim)}
		for j, value := range query {
			t.values[j] = float64(value)
		}
		trials = append(trials, t)
	}
	return trials, nil
}

// findTruth finds the nearest rows of each query among all rows.
func (b *build) findTruth(ctx context.Context, rows index.Source, trials []*trial) error {
	all := tops(trials, recallK+1)
	nearest := func(ctx context.Context, batch arrow.RecordBatch) ([]*vector.TopK, error) {
		count := quantize.Count(batch.Column(0))
		v := quantize.NewVectors(b.element, b.dim, b.metric, 0)
		if err := memory.FromContext(ctx).Take(ctx, v.Bytes(count)+12*int64(count)); err != nil {
			return nil, err
		}
		v = quantize.NewVectors(b.element, b.dim, b.metric, count)
		at, err := v.Append(batch.Column(0))
		if err != nil {
			return nil, err
		}
		column, ok := batch.Column(1).(*array.Uint64)
		if !ok {
			return nil, fmt.Errorf("rows of type %s", batch.Column(1).DataType())
		}
		ids, distances, part := make([]uint64, len(at)), make([]float32, len(at)), tops(trials, recallK+1)
		for i, row := range at {
			ids[i] = column.Value(int(row))
		}
		for i, t := range trials {
			t.exact.Distances(v.Values, distances)
			part[i].AddAll(distances, ids)
		}
		return part, nil
	}
	for part, err := range index.Map(ctx, rows, nil, nearest) {
		if err != nil {
			return err
		}
		for i := range trials {
			all[i].Merge(part[i])
		}
	}
	for i, t := range trials {
		hits := all[i].Hits()
		if len(hits) == 0 {
			continue
		}
		// Under dot the query itself need not be its nearest row. Then the last row is left out instead.
		t.self = hits[len(hits)-1].RowID
		if b.metric != vector.Dot {
			t.self = hits[0].RowID
		}
		for _, hit := range hits {
			if hit.RowID != t.self {
				t.truth = append(t.truth, hit.RowID)
			}
		}
	}
	return nil
}

func tops(trials []*trial, k int) []*vector.TopK {
	made := make([]*vector.TopK, len(trials))
	for i := range made {
		made[i] = vector.NewTopK(k, vector.Bounds{})
	}
	return made
}

// found returns how many of the nearest rows are among the first hits.
func (t *trial) found(top *vector.TopK, first int) int {
	n, rank := 0, 0
	for _, hit := range top.Hits() {
		if hit.RowID == t.self {
			continue
		}
		if rank++; rank > first {
			break
		}
		if slices.Contains(t.truth, hit.RowID) {
			n++
		}
	}
	return n
}

// tryAll searches all segments for all queries with one effort. It reads each partition once.
func (b *build) tryAll(ctx context.Context, effort indexmeta.MeasuredSearch, trials []*trial, segments []index.Files) ([]*vector.TopK, error) {
	candidates := recallK*max(effort.RefineFactor, 1) + 1
	found := tops(trials, candidates)
	params := Params{Minimum: effort.Nprobes, Maximum: effort.Nprobes, K: recallK, Candidates: candidates, EF: effort.EF}
	for _, files := range segments {
		x, err := Open(ctx, files)
		if err != nil {
			return nil, err
		}
		searches, probed := make([]*Search, len(trials)), make(map[int][]int)
		for i, t := range trials {
			if searches[i], err = x.Search(ctx, t.values, params); err != nil {
				return nil, err
			}
			for _, number := range searches[i].First() {
				probed[number] = append(probed[number], i)
			}
		}
		numbers := make([]int, 0, len(probed))
		for number := range probed {
			numbers = append(numbers, number)
		}
		slices.Sort(numbers)
		all := Filter{Accept: func(id uint64) (uint64, bool) { return id, true }, Share: 1}
		for p, err := range x.Read(ctx, numbers) {
			if err != nil {
				return nil, err
			}
			for _, i := range probed[p.Number] {
				if _, err := searches[i].Look(ctx, p, all, found[i]); err != nil {
					return nil, err
				}
			}
		}
	}
	return found, nil
}
