package indexing

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/index/bloomfilter"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/lance/indexmeta"
)

// A job builds the index that was ordered, with its parameters.
func TestOrdersKeepTheParameters(t *testing.T) {
	for _, want := range []indexbuild.Index{
		{Name: "f", Column: "c", Kind: indexmeta.BloomFilter, Params: bloomfilter.Recipe{Rows: 100, Probability: 0.01}},
		{Name: "v", Column: "c", Kind: indexmeta.Vector, Replace: true, Params: ivf.Recipe{Kind: "IVF_PQ", Metric: "l2", Partitions: 3}},
		{Name: "b", Column: "c", Kind: indexmeta.BTree},
	} {
		input, err := json.Marshal(NewOrder(want, ""))
		if err != nil {
			t.Fatal(err)
		}
		var order Order
		if err := json.Unmarshal(input, &order); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, order.index()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", input, diff)
		}
	}
}
