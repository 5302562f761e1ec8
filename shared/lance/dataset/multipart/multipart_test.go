package multipart_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/multipart"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore/memstore"
)

// partOf writes a part of rows with the given ids.
func partOf(t *testing.T, table *dataset.Table, overwrite bool, ids ...int64) *part.Part {
	t.Helper()
	made, err := multipart.Write(t.Context(), table, datasettest.RowsOf(ids...), overwrite)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestPartsBecomeOneVersionOfTheTable(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		table := datasettest.TableIn(memstore.New())
		first := datasettest.Create(t, table, 1, 2)
		parts := []*part.Part{partOf(t, table, overwrite, 3), partOf(t, table, overwrite, 4, 5)}
		if d, err := table.Latest(t.Context()); err != nil || d.Version() != 1 {
			t.Fatalf("got version %d, error %v; want parts to make none", d.Version(), err)
		}
		if _, err := table.Append(t.Context(), datasettest.RowsOf(9)); err != nil { // comes in between
			t.Fatal(err)
		}
		const id = "11111111-1111-4111-8111-111111111111"
		want := []int64{1, 2, 9, 3, 4, 5}
		if overwrite {
			want = []int64{3, 4, 5}
		}
		for range 2 { // the second time finds it made
			made, err := multipart.Commit(t.Context(), table, id, parts, first.Version())
			if err != nil {
				t.Fatal(err)
			}
			if made.Dataset.Version() != 3 || made.Rows != 3 {
				t.Errorf("got version %d of %d rows, want 3 of 3", made.Dataset.Version(), made.Rows)
			}
			if diff := cmp.Diff(want, datasettest.IDsOf(t, made.Dataset, snapshot.ScanOptions{})); diff != "" {
				t.Errorf("overwrite %v (-want +got):\n%s", overwrite, diff)
			}
		}
	}
}

func TestPartsThatDoNotFitAreNotCommitted(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	appended := partOf(t, table, false, 2)
	if _, err := multipart.Commit(t.Context(), table, "c", []*part.Part{appended, partOf(t, table, true, 3)}, 1); !errors.Is(err, multipart.ErrUnlikeParts) {
		t.Errorf("an append and an overwrite: got error %v, want ErrUnlikeParts", err)
	}
	d, err := table.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alter.DropColumns(t.Context(), d, []string{"name"}); err != nil {
		t.Fatal(err)
	}
	if _, err := multipart.Commit(t.Context(), table, "c", []*part.Part{appended}, 1); !errors.Is(err, dataset.ErrConflict) {
		t.Errorf("after a column was dropped: got error %v, want ErrConflict", err)
	}
}

// The files of a part are spared for as long as its upload may be committed, however old they are.
func TestCleanupSparesUploadsThatMayBeCommitted(t *testing.T) {
	for age, spared := range map[time.Duration]bool{time.Hour: true, 23 * time.Hour: true, 27 * time.Hour: false} {
		store := memstore.New()
		table := datasettest.TableIn(datasettest.Aged{Store: store, Age: func(key string) time.Duration {
			if strings.Contains(key, "/"+part.Folder+"/") && age < datasettest.Day {
				return age
			}
			return 8 * datasettest.Day
		}})
		datasettest.Create(t, table, 1)
		before := len(datasettest.Keys(t, store))
		kept, err := multipart.Parts(table).Keep(t.Context(), "u", "p", partOf(t, table, false, 2, 3))
		if err != nil {
			t.Fatal(err)
		}
		cleanUp(t, table)
		files := datasettest.Keys(t, store)
		if got := len(files) == before+2; got != spared {
			t.Errorf("a receipt %v old: the files are %v", age, files)
		}
		if !spared {
			continue
		}
		if _, err := multipart.Commit(t.Context(), table, "c", []*part.Part{kept}, 1); err != nil {
			t.Fatal(err)
		}
		cleanUp(t, table)
		d, err := table.Latest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := datasettest.IDsOf(t, d, snapshot.ScanOptions{}); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("got rows %v", got)
		}
	}
}

func cleanUp(t *testing.T, table *dataset.Table) {
	t.Helper()
	nothing := func(int) error { return nil }
	if _, err := cleanup.DeleteOrphans(t.Context(), table, time.Now().Add(-7*datasettest.Day), false, nothing); err != nil {
		t.Fatal(err)
	}
}
