package engine_test

import (
	"errors"
	"log/slog"
	"slices"
	"testing"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
)

// Indices that the engine builds in place of those of native Lance answer as these do.
func TestIndicesThatAreBuiltHereAnswerAsNativeOnes(t *testing.T) {
	for of, kind := range map[string]indexmeta.Kind{
		"btree": indexmeta.BTree, "bitmap": indexmeta.Bitmap, "labellist": indexmeta.LabelList, "ngram": indexmeta.Ngram,
		"zonemap": indexmeta.ZoneMap, "bloomfilter": indexmeta.BloomFilter, "fm": indexmeta.FM,
	} {
		x := openIndexed(t, of)
		newest := map[string]int64{}
		for _, c := range x.cases {
			newest[c.Table] = max(newest[c.Table], c.Version)
		}
		for name, version := range newest {
			t.Run(of+" "+name, func(t *testing.T) { x.rebuild(t, name, version, kind) })
		}
	}
}

// rebuild replaces the indices of a version of a table, and asks it for the cases of that version.
func (x *indexed) rebuild(t *testing.T, name string, version int64, kind indexmeta.Kind) {
	table := x.table(name, 1000)
	table.Engine().Logger = slog.New(failing{t})
	was, err := indices.List(t.Context(), table, &version)
	if err != nil {
		t.Fatal(err)
	}
	var made engine.Written
	for _, old := range was {
		if made, err = indices.Create(t.Context(), table, indexbuild.Index{Name: old.Name, Column: old.Columns[0], Kind: kind, Replace: true}); err != nil {
			t.Fatal(err)
		}
		built, err := enginetest.Index(t.Context(), table, old.Name)
		if err != nil || built.UUID == old.UUID || built.Unindexed != 0 {
			t.Errorf("%s: got %+v, %v; want another index, of all rows", old.Name, built, err)
		}
	}
	for _, c := range x.cases {
		if c.Table != name || c.Version != version {
			continue
		}
		if got := idsOf(t, table, made.Version, c.Filter); !slices.Equal(got, c.IDs) {
			t.Errorf("%s: got %v, want %v", c.Filter, got, c.IDs)
		}
	}
}

func TestIndicesThatCannotBeBuiltChangeNothing(t *testing.T) {
	x := openIndexed(t, "btree")
	table := x.table("plain", 1000)
	before, err := table.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	taken, err := indices.List(t.Context(), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		n    indexbuild.Index
		code protocol.Code
	}{
		{"no such column", indexbuild.Index{Name: "x", Column: "nope", Kind: indexmeta.BTree}, protocol.TableColumnNotFound},
		{"a struct", indexbuild.Index{Name: "x", Column: "st", Kind: indexmeta.BTree}, protocol.InvalidInput},
		{"a struct, by its texts", indexbuild.Index{Name: "x", Column: "st", Kind: indexmeta.Text}, protocol.InvalidInput},
		{"another form of texts", indexbuild.Index{Name: "x", Column: "s", Kind: indexmeta.Text, Params: fulltext.Params{LanceTokenizer: "json"}}, protocol.InvalidInput},
		{"a kind that is not built", indexbuild.Index{Name: "x", Column: "id", Kind: indexmeta.RTree}, protocol.Unsupported},
		{"a name that is taken", indexbuild.Index{Name: taken[0].Name, Column: taken[0].Columns[0], Kind: indexmeta.BTree}, protocol.TableIndexAlreadyExists},
	} {
		_, err := indices.Create(t.Context(), table, c.n)
		wantCode(t, c.what, err, c.code)
		wantCode(t, c.what+", checked", indices.Check(t.Context(), table, c.n), c.code)
	}
	refused := errors.New("refused")
	refusing := table.ConfirmWith(func() error { return refused })
	if _, err := indices.Create(t.Context(), refusing, indexbuild.Index{Name: "x", Column: "id", Kind: indexmeta.BTree}); !errors.Is(err, refused) {
		t.Errorf("got %v, want the error of confirm", err)
	}
	if after, err := table.Newest(t.Context()); err != nil || after != before {
		t.Errorf("the newest version is %d, %v; want %d as before", after, err, before)
	}
	if _, err := enginetest.Index(t.Context(), table, "x"); err == nil || snapshot.IsDamage(err) {
		t.Errorf("got %v, want no index", err)
	}
}
