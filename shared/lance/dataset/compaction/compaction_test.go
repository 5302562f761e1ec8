package compaction_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestCompactionJoinsSmallNeighbours(t *testing.T) {
	cases := []struct {
		name    string
		rows    []int
		deleted []uint64 // addresses
		opts    compaction.Options
		want    [][]uint64
	}{
		{"one fragment", []int{5}, nil, compaction.Options{}, nil},
		{"small ones", []int{5, 1, 3}, nil, compaction.Options{}, [][]uint64{{0, 1, 2}}},
		{"a large one parts them", []int{5, 1, 12, 3, 2}, nil, compaction.Options{TargetRows: 10}, [][]uint64{{0, 1}, {3, 4}}},
		{"alone beside a large one", []int{12, 3}, nil, compaction.Options{TargetRows: 10}, nil},
		{"cut when large enough", []int{6, 6, 6, 6, 6}, nil, compaction.Options{TargetRows: 10}, [][]uint64{{0, 1}, {2, 3, 4}}},
		{"no small rest", []int{6, 6, 6}, nil, compaction.Options{TargetRows: 10}, [][]uint64{{0, 1, 2}}},
		{"large in bytes", []int{6, 6}, nil, compaction.Options{TargetBytes: 1}, nil},
		{"bounded", []int{6, 6, 6, 6}, nil, compaction.Options{TargetRows: 10, MaxFragments: 3}, [][]uint64{{0, 1}}},
		{"bounded below the first", []int{6, 6, 6, 6}, nil, compaction.Options{TargetRows: 10, MaxFragments: 1}, [][]uint64{{0, 1}}},
		{"too few", []int{6, 6, 6}, nil, compaction.Options{MinFragments: 4}, nil},
		{"tiers", []int{100, 3, 3, 3, 20, 1, 1}, nil, compaction.Options{Tiered: true}, [][]uint64{{1, 2, 3}, {5, 6}}},
		{"tiers alike", []int{20, 10, 10}, nil, compaction.Options{Tiered: true}, [][]uint64{{0, 1, 2}}},
		{"few deleted", []int{20}, []uint64{0, 1}, compaction.Options{TargetRows: 10}, nil},
		{"many deleted", []int{20}, []uint64{0, 1, 2}, compaction.Options{TargetRows: 10}, [][]uint64{{0}}},
		{"never for deleted rows", []int{20}, []uint64{0, 1, 2}, compaction.Options{TargetRows: 10, DeletedShare: 1}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := datasettest.Many(t, datasettest.TableIn(memstore.New()), false, c.rows...)
			if c.deleted != nil {
				made, err := d.Delete(t.Context(), rowset.At(c.deleted...), "")
				if err != nil {
					t.Fatal(err)
				}
				d = made.Dataset
			}
			got, err := compaction.Plan(d, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompactionHeedsTheConfigOfTheTable(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	d := datasettest.Many(t, table, false, 6, 6, 6, 6)
	config := func(key, value string) *dataset.Dataset {
		d, err := d.Commit(t.Context(), &pb.UpdateConfig{Config: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: key, Value: &value}}}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d = config("lance.compaction.target_rows_per_fragment", "10")
	got, err := compaction.Plan(d, compaction.Options{})
	if diff := cmp.Diff([][]uint64{{0, 1}, {2, 3}}, got); diff != "" || err != nil {
		t.Errorf("groups (-want +got), %v:\n%s", err, diff)
	}
	d = config("lance.compaction.target_rows_per_fragment", "ten")
	if _, err := compaction.Plan(d, compaction.Options{}); !errors.Is(err, operation.ErrInvalid) {
		t.Errorf("nonsense: got %v, want ErrInvalid", err)
	}
}

// A compaction keeps rows, their ids and their order within a group, and leaves no work for the
// next one.
func TestCompactionKeepsTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		table := datasettest.TableIn(memstore.New())
		stable := rapid.Bool().Draw(t, "stable row ids")
		d := datasettest.Many(t, table, stable, rapid.SliceOfN(rapid.IntRange(1, 30), 1, 12).Draw(t, "fragments")...)
		gone := datasettest.AddressesOf(t, d, datasettest.Multiples(rapid.Int64Range(2, 9).Draw(t, "deleted multiples of")))
		made, err := d.Delete(ctx, rowset.At(gone...), "")
		if err != nil {
			t.Fatal(err)
		}
		d = made.Dataset
		opts := compaction.Options{TargetRows: rapid.Int64Range(1, 100).Draw(t, "target"), MaxFragments: rapid.IntRange(0, 5).Draw(t, "bound")}
		want := datasettest.IDsOf(t, d, snapshot.ScanOptions{})
		slices.Sort(want)
		for {
			done, err := compaction.Run(ctx, d, opts)
			if err != nil {
				t.Fatal(err)
			}
			if done.Dataset == nil {
				break
			}
			d = done.Dataset
		}
		got := datasettest.IDsOf(t, d, snapshot.ScanOptions{})
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("rows (-before +after):\n%s", diff)
		}
		if groups, err := compaction.Plan(d, compaction.Options{TargetRows: opts.TargetRows}); err != nil || groups != nil {
			t.Fatalf("still to be compacted: %v, %v", groups, err)
		}
	})
}
