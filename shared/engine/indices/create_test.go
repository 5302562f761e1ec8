package indices_test

import (
	"errors"
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

// The indices of native Lance are replaced, and the new ones must give the same answers.
func TestCreateBuildsIndicesThatAnswerAsNativeOnes(t *testing.T) {
	for of, kind := range map[string]indexmeta.Kind{
		"btree": indexmeta.BTree, "bitmap": indexmeta.Bitmap, "labellist": indexmeta.LabelList, "ngram": indexmeta.Ngram,
		"zonemap": indexmeta.ZoneMap, "bloomfilter": indexmeta.BloomFilter, "fm": indexmeta.FM,
	} {
		x := enginetest.OpenIndexed(t, of)
		newest := map[string]int64{}
		for _, c := range x.Cases {
			newest[c.Table] = max(newest[c.Table], c.Version)
		}
		for name, version := range newest {
			t.Run(of+" "+name, func(t *testing.T) { rebuild(t, x, name, version, kind) })
		}
	}
}

// rebuild replaces the indices of a version of a table, and runs the cases of that version.
func rebuild(t *testing.T, x *enginetest.Indexed, name string, version int64, kind indexmeta.Kind) {
	table := x.Table(name, 1000, enginetest.NoWarnings(t))
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
	for _, c := range x.Cases {
		if c.Table != name || c.Version != version {
			continue
		}
		if got := enginetest.IDs(t, table, made.Version, c.Filter); !slices.Equal(got, c.IDs) {
			t.Errorf("%s: got %v, want %v", c.Filter, got, c.IDs)
		}
	}
}

func TestCreateRefusesIndicesThatCannotBeBuilt(t *testing.T) {
	x := enginetest.OpenIndexed(t, "btree")
	table := x.Table("plain", 1000, nil)
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
		enginetest.WantCode(t, c.what, err, c.code)
		enginetest.WantCode(t, c.what+", checked", indices.Check(t.Context(), table, c.n), c.code)
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
