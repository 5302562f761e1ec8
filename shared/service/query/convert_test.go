package query

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// A k of zero and no k have meanings of their own in each kind of query, and for each family of clients.
func TestLimitsOfRequests(t *testing.T) {
	vectors, words := queryapi.Vector{Vectors: [][]float64{{1}}}, &queryapi.FullTextQuery{Text: "a"}
	number := func(n int64) *int64 { return &n }
	none, ten, three := (*int64)(nil), number(10), number(3)
	for _, c := range []struct {
		k                           *int64
		scan, near, text            *int64 // of namespace clients
		lanceScan, lanceNear, lance *int64 // of clients of LanceDB
	}{
		{k: none, near: ten, lanceNear: ten},
		{k: number(0), near: ten, lanceScan: number(0), lanceNear: number(0)},
		{three, three, three, three, three, three, three},
	} {
		for dialect, want := range map[protocol.Dialect][3]*int64{
			protocol.DialectNamespace: {c.scan, c.near, c.text}, protocol.DialectLanceDB: {c.lanceScan, c.lanceNear, c.lance},
		} {
			common := protocol.Common{Dialect: dialect}
			for i, req := range []*queryapi.Request{
				{Common: common, K: c.k}, {Common: common, K: c.k, Vector: vectors}, {Common: common, K: c.k, FullTextQuery: words},
			} {
				if diff := cmp.Diff(want[i], queryOf(req).Limit); diff != "" {
					t.Errorf("%s, request %d with k %v (-want +got):\n%s", dialect, i, c.k, diff)
				}
			}
		}
	}
}

func TestProbesOfRequests(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	half := 0.5
	for name, c := range map[string]struct {
		req         queryapi.Request
		least, most int
	}{
		"none":                    {queryapi.Request{}, 0, 0},
		"nprobes":                 {queryapi.Request{NProbes: number(7)}, 7, 7},
		"none of them":            {queryapi.Request{NProbes: number(0)}, 1, 1},
		"bounds":                  {queryapi.Request{NProbes: number(7), MinimumNProbes: number(2), MaximumNProbes: number(9)}, 2, 9},
		"a minimum":               {queryapi.Request{NProbes: number(7), MinimumNProbes: number(2)}, 2, 7},
		"no maximum":              {queryapi.Request{NProbes: number(7), MaximumNProbes: number(0)}, 7, 0},
		"an effort":               {queryapi.Request{NProbes: number(7), SearchEffort: &half}, 0, 0},
		"an effort within bounds": {queryapi.Request{NProbes: number(7), SearchEffort: &half, MinimumNProbes: number(2)}, 2, 0},
	} {
		if least, most := probesOf(&c.req); least != c.least || most != c.most {
			t.Errorf("%s: got %d to %d, want %d to %d", name, least, most, c.least, c.most)
		}
	}
}
