package all_test

import (
	"net/http"
	"testing"

	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// BenchmarkInsert adds 1,000 rows to a table in memory, in a directory with its syncs.
func BenchmarkInsert(b *testing.B) {
	body := wideStream(b, 1000)
	run := func(b *testing.B, s *server) {
		s.ok("/v1/table/t/create", body)
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if status, answer := s.post("/v1/table/t/insert", body); status != http.StatusOK {
				b.Fatalf("status %d: %s", status, answer)
			}
		}
	}
	b.Run("memory", func(b *testing.B) { run(b, serve(b, "memory://test", memstore.New())) })
	b.Run("directory", func(b *testing.B) {
		dir := b.TempDir()
		store, err := diskstore.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = store.Close() })
		run(b, serve(b, dir, store))
	})
}
