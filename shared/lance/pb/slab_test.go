package pb

import (
	"runtime"
	"testing"
)

// The manifests of many small tables are kept at a time.
func TestManifestsHoldTheFragmentsThatTheyHave(t *testing.T) {
	for _, fragments := range []int{1, 5, 300} {
		m := &Manifest{Version: 1}
		for id := range fragments {
			m.Fragments = append(m.Fragments, &Fragment{ID: uint64(id), PhysicalRows: 7})
		}
		var e Encoder
		m.Marshal(&e)
		text := e.B
		kept := make([]Manifest, 200)
		before := heap()
		for i := range kept {
			if err := kept[i].Unmarshal(text); err != nil || len(kept[i].Fragments) != fragments {
				t.Fatalf("got %d fragments, %v", len(kept[i].Fragments), err)
			}
		}
		const most = 1500 // bytes of two fragments and their pointers, and what else a manifest has
		if each := (heap() - before) / int64(len(kept)); each > int64(most*(fragments+1)) {
			t.Errorf("a manifest of %d fragments holds %d bytes", fragments, each)
		}
		runtime.KeepAlive(kept)
	}
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
