package ivf

import (
	"path"
	"strconv"
	"testing"

	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/internal/quantize"
)

// For any message, the decoded model is not larger than the message justifies.
func FuzzModel(f *testing.F) {
	_, files := indextest.Segments(f, indexFile)
	for name, data := range files {
		if path.Base(name) != indexFile {
			continue
		}
		d, err := describe(f.Context(), indextest.FolderOf(f, map[string][]byte{indexFile: data}), indexFile)
		if err != nil {
			f.Fatal(err)
		}
		number, err := strconv.Atoi(d.schema.Metadata["lance:ivf"])
		if err != nil {
			f.Fatal(err)
		}
		message, err := d.GlobalBuffer(f.Context(), number)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		m, err := decodeModel(message)
		if err != nil {
			return
		}
		if len(m.rows) > len(message) || m.centroids != nil && int64(4*len(m.centroids.Values)) > quantize.TensorMemory(int64(len(message))) {
			t.Fatalf("%d partitions of %d bytes", len(m.rows), len(message))
		}
		for i, s := range m.rows {
			if s.from < 0 || s.count < 0 || s.to() < s.from {
				t.Fatalf("partition %d has %d rows from %d on", i, s.count, s.from)
			}
		}
	})
}
