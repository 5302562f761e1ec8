package annsearch_test

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/internal/annsearch"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

const dim = 8

// open returns a version of a table that native Lance has made. Its column f32 has an index of two
// segments with four partitions each, and rows that were deleted after they were indexed.
func open(t *testing.T, name string) *dataset.Dataset {
	t.Helper()
	archive, err := zip.OpenReader("../../../index/ivf/testdata/native.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	store := memstore.New()
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err == nil {
			_, err = store.Put(t.Context(), f.Name, data, objectstore.Condition{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := objectstore.Location{URI: "memory://test/" + name, Store: store, Prefix: name + ".lance"}
	d, err := dataset.NewSession(64<<20, time.Now).Table(at, 0).Version(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// covered returns the live rows of the fragments that a segment answers for, as hits of a query, the
// nearest first.
func covered(t *testing.T, d *dataset.Dataset, query []float32) []vector.Hit {
	t.Helper()
	segments, err := d.Segments("f32")
	if err != nil {
		t.Fatal(err)
	}
	_, batches, err := d.Scan(t.Context(), snapshot.ScanOptions{Columns: []string{"f32", snapshot.RowAddr}})
	if err != nil {
		t.Fatal(err)
	}
	measure, err := vector.NewQuery(vector.L2, query)
	if err != nil {
		t.Fatal(err)
	}
	top := vector.NewTopK(100_000, vector.Bounds{})
	for batch, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		lists, addresses := batch.Column(0).(*array.FixedSizeList), batch.Column(1).(*array.Uint64).Uint64Values()
		for i, address := range addresses {
			answers := slices.ContainsFunc(segments, func(s *snapshot.Segment) bool { return s.Covers(address >> 32) })
			if lists.IsNull(i) || !answers {
				continue
			}
			from, _ := lists.ValueOffsets(i)
			var distance [1]float32
			measure.Distances(lists.ListValues().(*array.Float32).Float32Values()[from:from+dim], distance[:])
			top.Add(distance[0], address)
		}
	}
	return top.Hits()
}

func question(params ivf.Params, queries ...[]float32) annsearch.Question {
	q := annsearch.Question{Index: "f32", Element: arrow.PrimitiveTypes.Float32, Metric: vector.L2, Params: params}
	for _, query := range queries {
		wide := make([]float64, len(query))
		for i, x := range query {
			wide[i] = float64(x)
		}
		q.Vectors = append(q.Vectors, wide)
	}
	return q
}

func randomQuery(random *rand.Rand) []float32 {
	query := make([]float32, dim)
	for i := range query {
		query[i] = float32(random.NormFloat64())
	}
	return query
}

func nearest(t *testing.T, d *dataset.Dataset, q annsearch.Question) *annsearch.Answer {
	t.Helper()
	a, err := annsearch.Nearest(t.Context(), d, q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A search through all partitions of an index of whole vectors finds what a scan finds.
func TestNearestInAllPartitionsFindsTheNearestRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"plain", "stable"} { // the rows of the second have ids that stay
		d, queries := open(t, name), [][]float32{randomQuery(random), randomQuery(random), randomQuery(random)}
		a := nearest(t, d, question(ivf.Params{Minimum: 4, Maximum: 4, K: 12, Candidates: 12}, queries...))
		if a.Segments != 2 || a.Partitions != 8 || a.Rest != nil {
			t.Errorf("%s: looked through %d segments and %d partitions, rest %v; want 2 and 8", name, a.Segments, a.Partitions, a.Rest)
		}
		for i, query := range queries {
			if want := covered(t, d, query)[:12]; !slices.Equal(a.Hits[i], want) {
				t.Errorf("%s: query %d: got %v, want %v", name, i, a.Hits[i], want)
			}
		}
	}
}

// A search that may look through few partitions goes on while it has found too few rows.
func TestNearestGoesOnUntilItHasFoundEnough(t *testing.T) {
	d, query := open(t, "plain"), randomQuery(rand.New(rand.NewPCG(3, 4)))
	all := len(covered(t, d, query))
	few := nearest(t, d, question(ivf.Params{Minimum: 1, Maximum: 1, K: all, Candidates: all}, query))
	if n := len(few.Hits[0]); n == 0 || n == all || few.Partitions > few.Segments {
		t.Errorf("one partition of each segment: %d rows of %d in %d partitions of %d segments", n, all, few.Partitions, few.Segments)
	}
	on := nearest(t, d, question(ivf.Params{Minimum: 1, K: all, Candidates: all}, query))
	if n := len(on.Hits[0]); n != all || on.Partitions <= few.Partitions {
		t.Errorf("without a maximum: %d rows of %d in %d partitions", n, all, on.Partitions)
	}
}

func TestNearestAmongRowsFindsNoOthers(t *testing.T) {
	d, query := open(t, "plain"), randomQuery(rand.New(rand.NewPCG(5, 6)))
	far := covered(t, d, query)
	far = far[len(far)/2:]
	among := rowset.At()
	for _, hit := range far {
		among.Add([]uint64{hit.RowID})
	}
	q := question(ivf.Params{Minimum: 4, Maximum: 4, K: 5, Candidates: 5}, query)
	q.Among = func(context.Context) (*rowset.Set, error) { return among, nil }
	if a := nearest(t, d, q); !slices.Equal(a.Hits[0], far[:5]) || a.Rest != nil {
		t.Errorf("got %v and rest %v, want %v", a.Hits[0], a.Rest, far[:5])
	}
	// Of so few rows all are wanted, so the search leaves those that it has not met to a scan.
	two := rowset.At(far[0].RowID, far[len(far)-1].RowID)
	q = question(ivf.Params{Minimum: 1, Maximum: 1, K: 5, Candidates: 5}, query)
	q.Among = func(context.Context) (*rowset.Set, error) { return two, nil }
	if a := nearest(t, d, q); len(a.Hits[0]) < 2 && (a.Rest == nil || a.Rest.Len() != 2) {
		t.Errorf("found %d of two rows, and the rest are %v", len(a.Hits[0]), a.Rest)
	}
	failed := errors.New("the filter failed")
	q.Among = func(context.Context) (*rowset.Set, error) { return nil, failed }
	if _, err := annsearch.Nearest(t.Context(), d, q); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of the filter", err)
	}
}

func TestNearestRefusesAQuestionThatDoesNotFit(t *testing.T) {
	d, query := open(t, "plain"), randomQuery(rand.New(rand.NewPCG(7, 8)))
	q := question(ivf.Params{K: 1, Candidates: 1}, query)
	q.Metric = vector.Cosine
	if _, err := annsearch.Nearest(t.Context(), d, q); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("another metric: got %v, want ErrUnsupported", err)
	}
	q = question(ivf.Params{K: 1, Candidates: 1}, query)
	q.Element = arrow.PrimitiveTypes.Float64
	if _, err := annsearch.Nearest(t.Context(), d, q); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("another type: got %v, want ErrUnsupported", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := annsearch.Nearest(ctx, d, question(ivf.Params{K: 1, Candidates: 1}, query)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: got %v, want Canceled", err)
	}
}
