package snapshot_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore/memstore"
)

const benchRows = 1 << 20

// BenchmarkScan reads a whole table without a cache.
func BenchmarkScan(b *testing.B) {
	store := memstore.New()
	d, _ := wideTable(b, store, benchRows, benchRows/4)
	for _, column := range []string{"id", "name", "v"} {
		b.Run(column, func(b *testing.B) {
			for b.Loop() {
				fresh := tableIn(store)
				opened, err := fresh.Version(context.Background(), d.Version())
				if err != nil {
					b.Fatal(err)
				}
				_, batches, err := opened.Scan(context.Background(), snapshot.ScanOptions{Columns: []string{column}})
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range batches {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

// BenchmarkTake reads 1,000 scattered rows.
func BenchmarkTake(b *testing.B) {
	d, _ := wideTable(b, memstore.New(), benchRows, benchRows/4)
	random := rand.New(rand.NewPCG(1, 2))
	addresses := make([]uint64, 1000)
	for i := range addresses {
		addresses[i] = uint64(random.IntN(4))<<32 | uint64(random.IntN(benchRows/4))
	}
	for b.Loop() {
		if _, err := d.Take(context.Background(), nil, addresses); err != nil {
			b.Fatal(err)
		}
	}
}
