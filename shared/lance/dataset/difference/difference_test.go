package difference

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// version returns a version of fragments without files, of rows with some ids.
func version(t testing.TB, number uint64, flags uint64, rows ...*rowid.Sequence) *snapshot.Snapshot {
	t.Helper()
	columns, err := schema.FromArrow(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	m := &manifest.Manifest{Schema: columns}
	m.Version, m.ReaderFlags, m.WriterFlags = number, flags, flags
	for i, ids := range rows {
		m.Fragments = append(m.Fragments, &pb.Fragment{
			ID: uint64(i) + 10*number, PhysicalRows: uint64(ids.Len()), RowIDs: ids.Encode(),
			UpdatedAt: rowid.SameVersion(ids.Len(), number).Encode(),
		})
	}
	at := objectstore.Location{URI: "memory://t", Store: memstore.New(), Prefix: "t"}
	s, err := snapshot.New(snapshot.NewPlace(new(snapshot.Shared), at), m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scattered returns n ids at large distances.
func scattered(n uint64) *rowid.Sequence {
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i) << 20
	}
	return rowid.New(ids)
}

func TestVersionsThatCannotBeCompared(t *testing.T) {
	const stable = manifest.FlagStableRowIDs
	some := rowid.Range(0, 10)
	cases := []struct {
		name     string
		was, now *snapshot.Snapshot
		limit    int64
	}{
		{"no stable row ids before", version(t, 1, 0, some), version(t, 2, stable, some), maxBytes},
		{"no stable row ids after", version(t, 1, stable, some), version(t, 2, 0, some), maxBytes},
		{"an id of two rows", version(t, 1, stable, some, rowid.Range(9, 12)), version(t, 2, stable, some), maxBytes},
		{"an id of two rows of one fragment", version(t, 1, stable, some), version(t, 2, stable, rowid.New([]uint64{3, 3})), maxBytes},
		{"too many ids that stand alone", version(t, 1, stable, scattered(20_000)), version(t, 2, stable), 1 << 20},
		{"a range of ids too long for the bound", version(t, 1, stable, rowid.Range(0, math.MaxUint32)), version(t, 2, stable), 1 << 20},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			budget := memory.NewBudget(64<<20, 64<<20)
			share := budget.Open()
			defer share.Close()
			_, err := of(memory.WithShare(t.Context(), share), c.was, c.now, nil, nil, c.limit)
			if !errors.Is(err, ErrNotComparable) {
				t.Errorf("got %v, want ErrNotComparable", err)
			}
			if held, peak := share.Held(), share.Peak(); held != 0 || peak > c.limit {
				t.Errorf("%d bytes are held, and were %d at most; the bound is %d", held, peak, c.limit)
			}
		})
	}
}

// A comparison charges its memory, fails without it, and releases it.
func TestOfHoldsTheMemoryOfADifference(t *testing.T) {
	was, now := version(t, 1, manifest.FlagStableRowIDs), version(t, 2, manifest.FlagStableRowIDs, scattered(20_000))
	share := memory.NewBudget(64<<20, 64<<20).Open()
	rows, err := Of(memory.WithShare(t.Context(), share), was, now, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := rows.Fresh.GetCardinality(); n != 20_000 || share.Held() < 2*20_000 {
		t.Errorf("%d fresh rows hold %d bytes, want 20000 rows and two bytes each", n, share.Held())
	}
	rows.Release()
	if share.Held() != 0 {
		t.Errorf("%d bytes are held after the release", share.Held())
	}
	small := memory.NewBudget(1<<20, 1<<20).Open()
	var refused *memory.Error
	if _, err := Of(memory.WithShare(t.Context(), small), was, now, nil, nil); !errors.As(err, &refused) || small.Held() != 0 {
		t.Errorf("got %v and %d bytes, want that memory is refused and none held", err, small.Held())
	}
}

func TestComparisonsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	was, now := version(t, 1, manifest.FlagStableRowIDs, scattered(10)), version(t, 2, manifest.FlagStableRowIDs)
	if _, err := Of(ctx, was, now, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
}

// Rows of fragments that do not record versions count as changed when they move.
func TestRowsWithoutVersionsChangeWhenTheyMove(t *testing.T) {
	trust := func(context.Context, uint64) (Commit, error) { return Commit{Operation: &pb.Rewrite{}}, nil }
	for _, recorded := range []bool{true, false} {
		was, now := version(t, 1, manifest.FlagStableRowIDs, rowid.Range(0, 10)), version(t, 2, manifest.FlagStableRowIDs, rowid.Range(0, 10))
		was.Manifest().Fragments[0].UpdatedAt = rowid.SameVersion(10, 1).Encode()
		now.Manifest().Fragments[0].UpdatedAt = was.Manifest().Fragments[0].UpdatedAt
		if !recorded {
			was.Manifest().Fragments[0].UpdatedAt, now.Manifest().Fragments[0].UpdatedAt = nil, nil
		}
		x := now.Schema().Fields[0].ID
		rows, err := Of(t.Context(), was, now, []int32{x}, trust)
		if err != nil {
			t.Fatal(err)
		}
		if changed := !rows.Changed.IsEmpty(); changed == recorded {
			t.Errorf("versions recorded: %v; rows changed: %v", recorded, changed)
		}
	}
}

// Rows that thousands of versions have changed one by one, and that a compaction moves, are the same.
func TestRowsOfManyVersionsAreTheSameWhenTheyMove(t *testing.T) {
	const rows = 20_000
	versions := make([]uint64, rows)
	for i := range versions {
		versions[i] = uint64(i%10_000) + 1
	}
	trust := func(context.Context, uint64) (Commit, error) { return Commit{Operation: &pb.Rewrite{}}, nil }
	was, now := version(t, 20_001, manifest.FlagStableRowIDs, rowid.Range(0, rows)), version(t, 20_002, manifest.FlagStableRowIDs, rowid.Range(0, rows))
	for _, s := range []*snapshot.Snapshot{was, now} {
		s.Manifest().Fragments[0].UpdatedAt = rowid.NewVersions(versions).Encode()
	}
	got, err := Of(t.Context(), was, now, []int32{now.Schema().Fields[0].ID}, trust)
	if err != nil {
		t.Fatal(err)
	}
	if !got.IsEmpty() {
		t.Errorf("%d rows have changed, want none", got.Changed.GetCardinality())
	}
}

// Equal sets have equal digests, however they were built; other sets have others.
func TestDigestsTellSetsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []uint64 {
			return rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Uint64Range(1<<32-2, 1<<32+2), rapid.Just(uint64(math.MaxUint64))), 0, 6).Draw(t, name)
		}
		rows := func(sets [3][]uint64) *Rows {
			return &Rows{Gone: roaring64.BitmapOf(sets[0]...), Fresh: roaring64.BitmapOf(sets[1]...), Changed: roaring64.BitmapOf(sets[2]...)}
		}
		a := [3][]uint64{draw("gone"), draw("fresh"), draw("changed")}
		b := [3][]uint64{draw("other gone"), draw("other fresh"), draw("other changed")}
		x, y := rows(a), rows(b)
		same := x.Gone.Equals(y.Gone) && x.Fresh.Equals(y.Fresh) && x.Changed.Equals(y.Changed)
		if (x.Digest() == y.Digest()) != same {
			t.Errorf("the digests of %v and %v are the same: %v, want %v", a, b, !same, same)
		}
		again := rows(a)
		again.Gone.RunOptimize()
		if again.Digest() != x.Digest() {
			t.Errorf("%v has two digests", a)
		}
	})
}
