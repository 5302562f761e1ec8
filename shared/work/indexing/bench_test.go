package indexing_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/work/indexing"
)

// measured is what the table of a measurement has.
type measured struct {
	index   indexbuild.Index
	column  arrow.Field
	rows    int
	partial indexing.Sizes
	fill    func(b array.Builder, random *rand.Rand)
}

// BenchmarkParts measures the stages of builds in a directory: the processor time of the longest part and of all,
// requests and bytes. A part has 1.4 GB of memory. docs/scale.md has the results. Run it with -cpu 1, as the
// functions of the estimates have one core, and with -benchtime 1x.
func BenchmarkParts(b *testing.B) {
	words := make([]string, 50_000)
	for i := range words {
		words[i] = fmt.Sprintf("w%x", i*7919)
	}
	text := func(to array.Builder, random *rand.Rand) {
		var document strings.Builder
		for range 50 {
			document.WriteString(words[int(float64(len(words))*random.Float64()*random.Float64()*random.Float64())])
			document.WriteByte(' ')
		}
		to.(*array.StringBuilder).Append(document.String())
	}
	number := func(to array.Builder, random *rand.Rand) { to.(*array.Int64Builder).Append(random.Int64()) }
	vector := func(to array.Builder, random *rand.Rand) {
		list := to.(*array.FixedSizeListBuilder)
		list.Append(true)
		at, base := list.ValueBuilder().(*array.Float32Builder), float32(random.IntN(64))
		for i := range list.Type().(*arrow.FixedSizeListType).Len() {
			at.Append(base*float32(i%7) + random.Float32())
		}
	}
	btree := indexbuild.Index{Name: "BTREE", Column: "x", Kind: indexmeta.BTree}
	words50 := indexbuild.Index{Name: "FTS", Column: "x", Kind: indexmeta.Text, Params: fulltext.DefaultParams()}
	pieces := indexbuild.Index{Name: "FM", Column: "x", Kind: indexmeta.FM}
	pq := indexbuild.Index{Name: "IVF_PQ", Column: "x", Kind: indexmeta.Vector, Params: ivf.Recipe{Kind: "IVF_PQ", Metric: "l2"}}
	pq4096 := indexbuild.Index{Name: "IVF4096_PQ", Column: "x", Kind: indexmeta.Vector, Params: ivf.Recipe{Kind: "IVF_PQ", Metric: "l2", Partitions: 4096}}
	numbers := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64}
	texts := arrow.Field{Name: "x", Type: arrow.BinaryTypes.String}
	vectors := func(dim int32) arrow.Field {
		return arrow.Field{Name: "x", Type: arrow.FixedSizeListOf(dim, arrow.PrimitiveTypes.Float32)}
	}
	for _, m := range []measured{
		{btree, numbers, 1e6, indexing.Sizes{Time: 2 * time.Minute, Memory: 10 << 20}, number},
		{btree, numbers, 1e7, indexing.PartSizes, number},
		{words50, texts, 1e6, indexing.Sizes{Time: 3 * time.Second, Memory: 256 << 20}, text},
		{words50, texts, 1e6, indexing.PartSizes, text},
		{pieces, texts, 3e5, indexing.Sizes{Time: 10 * time.Second, Memory: 256 << 20}, text},
		{pq, vectors(768), 2e5, indexing.Sizes{Time: 5 * time.Second, Memory: 256 << 20}, vector},
		{pq, vectors(768), 1e6, indexing.PartSizes, vector},
		{pq, vectors(128), 1e6, indexing.Sizes{Time: 5 * time.Second, Memory: 256 << 20}, vector},
		{pq, vectors(128), 1e7, indexing.PartSizes, vector},
		{pq4096, vectors(768), 1e6, indexing.PartSizes, vector},
	} {
		b.Run(fmt.Sprintf("%s on %v, %.0e rows", m.index.Name, m.column.Type, float64(m.rows)), func(b *testing.B) {
			for b.Loop() {
				m.run(b)
			}
		})
	}
}

func (m measured) run(b *testing.B) {
	b.StopTimer()
	dir, err := diskstore.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	objects := faultstore.New(dir, nil)
	h := open(b, objects, m.partial)
	h.worker.Memory = memory.NewBudget(1400<<20, 1400<<20)
	schema, random := arrow.NewSchema([]arrow.Field{m.column}, nil), rand.New(rand.NewPCG(1, 1))
	at := h.Names.Places.New(table)
	rows := dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		const at = 10_000
		for range m.rows / at {
			to := array.NewBuilder(arrowmemory.DefaultAllocator, m.column.Type)
			for range at {
				m.fill(to, random)
			}
			if !yield(array.NewRecordBatch(schema, []arrow.Array{to.NewArray()}, at), nil) {
				return
			}
		}
	}}
	if _, err := h.Rows.Table(table, at).Create(b.Context(), rows); err != nil {
		b.Fatal(err)
	}
	if _, err := h.Names.CreateTable(b.Context(), table, at, 1, nil); err != nil {
		b.Fatal(err)
	}
	type sum struct {
		parts, requests int
		longest, all    time.Duration
		read, written   int64
	}
	stages, order := map[string]*sum{}, []string(nil)
	b.StartTimer()
	begun, err := h.Jobs.Begin(b.Context(), indexing.Kind, table, indexing.NewOrder(m.index, ""))
	if err != nil {
		b.Fatal(err)
	}
	var began time.Duration
	end := func(stage string) {
		s, counts, took := stages[stage], objects.Snapshot(), processorTime(b)-began
		s.parts, s.requests, s.all, s.longest = s.parts+1, s.requests+counts.Requests, s.all+took, max(s.longest, took)
		s.read, s.written = s.read+counts.ReadBytes, s.written+counts.WrittenBytes
	}
	stage := ""
	h.work(b, func(message jobs.Message) {
		if stage != "" {
			end(stage)
		}
		if stage = message.Stage; stage == "" {
			found, err := h.Transactions.Job(b.Context(), transaction.Unit{Job: begun.ID})
			if err != nil {
				b.Fatal(err)
			}
			stage = "job after " + found.Work.Stage
		}
		if stages[stage] == nil {
			stages[stage] = &sum{}
			order = append(order, stage)
		}
		objects.Reset()
		began = processorTime(b)
	})
	end(stage)
	for _, name := range order {
		s := stages[name]
		b.Logf("%-20s %4d parts, longest %8v, all %8v, %6d requests, %5d MB read, %5d MB written",
			name, s.parts, s.longest.Round(time.Millisecond), s.all.Round(time.Millisecond), s.requests, s.read>>20, s.written>>20)
	}
	done, err := h.Transactions.Job(b.Context(), transaction.Unit{Job: begun.ID})
	if err != nil || done.Status != transactionapi.Succeeded {
		b.Fatal(done.Status, done.Work.Stage, done.Failure, err)
	}
}

// processorTime returns how long processors have worked for this process.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
