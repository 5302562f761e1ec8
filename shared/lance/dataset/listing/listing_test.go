package listing_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// withVersions returns a table with only empty manifests, and the store that counts its requests.
func withVersions(t interface{ Fatal(...any) }, scheme manifest.Scheme, versions []uint64) (*dataset.Table, *faultstore.Store) {
	store := faultstore.New(memstore.New(), nil)
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	at := roots.Join("t.lance")
	for _, v := range versions {
		if _, err := store.Put(context.Background(), manifest.Key(at.Prefix, v, scheme), []byte("x"), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	store.Reset()
	return dataset.NewSession(0, time.Now).Table(at, 0), store
}

// For any history, the pages of a listing contain each version once, in the requested order.
func TestPagesOfVersionsAreTheWholeList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gap := rapid.OneOf(rapid.Just(uint64(1)), rapid.Uint64Range(1, 3), rapid.Uint64Range(1, 5000))
		var versions []uint64
		for v, n := gap.Draw(t, "first"), rapid.SampledFrom([]int{0, 1, 20, 1100}).Draw(t, "count"); len(versions) < n; v += gap.Draw(t, "gap") {
			versions = append(versions, v)
		}
		scheme := rapid.SampledFrom([]manifest.Scheme{manifest.V1, manifest.V2}).Draw(t, "scheme")
		table, _ := withVersions(t, scheme, versions)
		opts := listing.Request{Descending: rapid.Bool().Draw(t, "descending"), Limit: rapid.SampledFrom([]int{-1, 90, 700}).Draw(t, "limit")}
		if opts.Descending {
			slices.Reverse(versions)
		}
		var got []uint64
		for {
			page, err := listing.Versions(context.Background(), table, opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range page.Versions {
				got = append(got, v.Number)
			}
			if page.Next == "" {
				break
			}
			after, err := strconv.ParseUint(page.Next, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			opts.After = &after
		}
		if !slices.Equal(got, versions) {
			t.Fatalf("pages of %+v hold %d, want %d", opts, got, versions)
		}
	})
}

// A page costs the same in a short history and in a long one.
func TestPageOfVersionsCostsTheSameInLongHistories(t *testing.T) {
	const page = 5
	cost := func(newest uint64, cleanedUp uint64) []int {
		var versions []uint64
		for v := cleanedUp + 1; v <= newest; v++ {
			versions = append(versions, v)
		}
		table, store := withVersions(t, manifest.V2, versions)
		middle := cleanedUp + (newest-cleanedUp)/2
		var requests []int
		for _, opts := range []listing.Request{
			{Descending: true, Limit: page},
			{Descending: true, Limit: page, After: &middle},
			{Limit: page},
			{Limit: page, After: &middle},
		} {
			store.Reset()
			if got, err := listing.Versions(t.Context(), table, opts); err != nil || len(got.Versions) != page {
				t.Fatalf("%+v: %d versions, %v", opts, len(got.Versions), err)
			}
			requests = append(requests, store.Snapshot().Requests)
		}
		return requests
	}
	for _, tc := range []struct {
		newest, cleanedUp uint64
		want              []int
	}{
		{20, 0, []int{1, 1, 1, 1}},
		{2_000, 0, []int{1, 1, 2, 2}},
		{20_000, 0, []int{1, 1, 2, 2}},
		{100_000, 99_980, []int{1, 1, 1, 1}},
	} {
		if diff := cmp.Diff(tc.want, cost(tc.newest, tc.cleanedUp)); diff != "" {
			t.Errorf("requests of each page of versions %d to %d (-want +got):\n%s", tc.cleanedUp+1, tc.newest, diff)
		}
	}
}

func TestOneDescribesOneVersion(t *testing.T) {
	table, store := withVersions(t, manifest.V2, []uint64{3, 4, 9})
	cases := []struct {
		number *int64
		want   uint64 // 0: none
	}{{nil, 9}, {new(int64(4)), 4}, {new(int64(9)), 9}, {new(int64(5)), 0}, {new(int64(0)), 0}}
	for _, tc := range cases {
		store.Reset()
		v, err := listing.One(t.Context(), table, tc.number)
		switch {
		case tc.want == 0:
			if !errors.Is(err, dataset.ErrNoVersion) {
				t.Errorf("got %+v, %v; want ErrNoVersion", v, err)
			}
		case err != nil || v.Number != tc.want || v.ETag == "" || v.Size != 1 || v.Key != manifest.Key("t.lance", v.Number, manifest.V2):
			t.Errorf("got %+v, %v; want version %d", v, err, tc.want)
		}
	}
	empty, _ := withVersions(t, manifest.V2, nil)
	if _, err := listing.One(t.Context(), empty, nil); !errors.Is(err, dataset.ErrNoVersion) {
		t.Errorf("newest version of a declared table: %v, want ErrNoVersion", err)
	}
}
