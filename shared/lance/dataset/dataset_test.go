package dataset_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestCreatedTableHoldsItsRows(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	if _, err := table.Latest(t.Context()); !errors.Is(err, dataset.ErrNoTable) {
		t.Errorf("latest of no table: %v, want ErrNoTable", err)
	}
	d := datasettest.Create(t, table, datasettest.UpTo(1000)...)
	if got, want := d.Version(), uint64(1); got != want {
		t.Errorf("version %d, want %d", got, want)
	}
	if diff := cmp.Diff(datasettest.UpTo(1000), datasettest.IDsOf(t, d, snapshot.ScanOptions{})); diff != "" {
		t.Error(diff)
	}
	if _, err := table.Create(t.Context(), datasettest.RowsOf(1)); !errors.Is(err, dataset.ErrTableExists) {
		t.Errorf("second create: %v, want ErrTableExists", err)
	}
}

func TestAppendAndOverwriteMakeVersions(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	table := datasettest.TableIn(store)
	datasettest.Create(t, table, 1, 2)
	if _, err := table.Append(ctx, datasettest.RowsOf(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Overwrite(ctx, datasettest.RowsOf(9), nil); err != nil {
		t.Fatal(err)
	}
	other := datasettest.TableIn(store) // a process that has seen nothing
	for version, want := range map[uint64][]int64{1: {1, 2}, 2: {1, 2, 3}, 3: {9}} {
		d, err := other.Version(ctx, version)
		if err != nil {
			t.Fatal(err)
		}
		if got := datasettest.IDsOf(t, d, snapshot.ScanOptions{}); !cmp.Equal(got, want) {
			t.Errorf("version %d holds %v, want %v", version, got, want)
		}
	}
	if _, err := other.Version(ctx, 4); !errors.Is(err, dataset.ErrNoVersion) {
		t.Errorf("version 4: %v, want ErrNoVersion", err)
	}
	infos, err := other.Versions(ctx, nil, -1)
	if err != nil || len(infos) != 3 || dataset.VersionOf(infos[0]) != 3 {
		t.Errorf("versions %v, %v; want 3, 2, 1", infos, err)
	}
}

func TestAppendMatchesColumnsByName(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	only := arrow.NewSchema([]arrow.Field{datasettest.People.Field(0)}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, only)
	b.Field(0).(*array.Int64Builder).Append(7) // its name is null, as checkRows expects
	batch := b.NewRecordBatch()
	rows := dataset.Rows{Schema: only, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	made, err := table.Append(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, made.Dataset, snapshot.ScanOptions{}), []int64{1, 7}; !cmp.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	wrong := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}}, nil)
	_, err = table.Append(ctx, dataset.Rows{Schema: wrong, Batches: func(func(arrow.RecordBatch, error) bool) {}})
	if !errors.Is(err, schema.ErrMismatch) {
		t.Errorf("append of another type: %v, want ErrMismatch", err)
	}
}

func TestRefusedConfirmationKeepsRowsOut(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	moved := errors.New("moved")
	refusing := table.ConfirmWith(func() error { return moved })
	if _, err := refusing.Append(t.Context(), datasettest.RowsOf(2)); !errors.Is(err, moved) {
		t.Errorf("append: %v, want what confirm said", err)
	}
	d, err := table.Latest(t.Context())
	if err != nil || d.Version() != 1 {
		t.Errorf("latest version %d, %v; want 1", d.Version(), err)
	}
}

func TestConfirmsAreAskedUntilOneRefuses(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	var asked []string
	refused := errors.New("refused")
	named := func(name string, err error) func() error {
		return func() error {
			asked = append(asked, name)
			return err
		}
	}
	confirming := table.ConfirmWith(named("first", nil))
	if _, err := confirming.Append(t.Context(), datasettest.RowsOf(2)); err != nil {
		t.Fatal(err)
	}
	d, err := confirming.ConfirmWith(named("second", refused)).ConfirmWith(named("third", nil)).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alter.DropColumns(t.Context(), d, []string{"id"}); !errors.Is(err, refused) {
		t.Errorf("got %v, want the error of the second confirm", err)
	}
	if want := []string{"first", "first", "second"}; !cmp.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	if _, err := table.Append(t.Context(), datasettest.RowsOf(3)); err != nil || len(asked) != 3 {
		t.Errorf("append without confirms: %v after %v, want no error and no more questions", err, asked)
	}
}

// A scan of fragments with deletions equals the same done to a list.
func TestScanEqualsListOfRows(t *testing.T) {
	ctx := context.Background()
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, datasettest.UpTo(3000)...)
	for from := int64(3000); from < 6000; from += 1000 {
		if _, err := table.Append(ctx, datasettest.RowsOf(datasettest.UpTo(from + 1000)[from:]...)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := table.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	gone := datasettest.AddressesOf(t, d, datasettest.Multiples(3))
	made, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(gone...)})
	if err != nil {
		t.Fatal(err)
	}
	d = made.Dataset
	var want []int64
	for _, id := range datasettest.UpTo(6000) {
		if id%3 != 0 {
			want = append(want, id)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		opts := snapshot.ScanOptions{
			Offset: rapid.Int64Range(0, 5000).Draw(t, "offset"),
			Limit:  rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Just[int64](math.MaxInt64)).Draw(t, "limit"),
		}
		expected := want
		if n := rapid.SampledFrom([]int64{0, 2, 7, 500, 100_000}).Draw(t, "multiples of"); n > 0 {
			opts.Where = datasettest.Multiples(n)
			expected = slices.DeleteFunc(slices.Clone(want), func(id int64) bool { return id%n != 0 })
		}
		if rapid.Bool().Draw(t, "few columns") {
			opts.Columns = []string{"name", "id"}
		}
		expected = expected[min(int(opts.Offset), len(expected)):]
		if opts.Limit > 0 {
			expected = expected[:min(opts.Limit, int64(len(expected)))]
		}
		if opts.Where != nil && rapid.Bool().Draw(t, "by their addresses") {
			expected = datasettest.IDsOf(t, d, snapshot.ScanOptions{Where: opts.Where})
			opts = snapshot.ScanOptions{Columns: opts.Columns, Rows: rowset.At(datasettest.AddressesOf(t, d, opts.Where)...)}
		}
		if got := datasettest.IDsOf(t, d, opts); !slices.Equal(got, expected) {
			t.Fatalf("scan %+v gives %d ids from %v, want %d from %v", opts, len(got), head(got), len(expected), head(expected))
		}
	})
}

func head(ids []int64) []int64 { return ids[:min(3, len(ids))] }

func TestTakeReturnsRowsInTheOrderAsked(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, datasettest.UpTo(500)...)
	if _, err := table.Append(ctx, datasettest.RowsOf(datasettest.UpTo(1000)[500:]...)); err != nil {
		t.Fatal(err)
	}
	d, err := table.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all := datasettest.AddressesOf(t, d, nil)
	ask := []uint64{all[999], all[3], all[3], all[500], all[0]}
	batch, err := d.Take(ctx, []string{"name", "id", snapshot.RowOffset}, ask)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.CheckRows(t, batch), []int64{999, 3, 3, 500, 0}; !cmp.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	if got, want := batch.Column(2).(*array.Uint64).Uint64Values(), []uint64{999, 3, 3, 500, 0}; !cmp.Equal(got, want) {
		t.Errorf("their offsets are %v, want %v", got, want)
	}
	made, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(all[3:4]...)})
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]uint64{"deleted": all[3], "past the fragment": 500, "of no fragment": 9 << 32} {
		if _, err := made.Dataset.Take(ctx, nil, []uint64{bad}); err == nil {
			t.Errorf("take of a row that is %s succeeds", name)
		}
	}
	batch, err = made.Dataset.Take(ctx, []string{"id", snapshot.RowOffset}, []uint64{all[4], all[500]})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := batch.Column(1).(*array.Uint64).Uint64Values(), []uint64{3, 499}; !cmp.Equal(got, want) {
		t.Errorf("after the delete the offsets are %v, want %v", got, want)
	}
}

func TestReplacementsOfOtherRowsGoTogether(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	a, b := datasettest.TableIn(store), datasettest.TableIn(store) // two processes
	datasettest.Create(t, a, datasettest.UpTo(10)...)
	da, err := a.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	db, err := b.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows := datasettest.AddressesOf(t, da, nil)
	if _, err := da.Replace(ctx, dataset.Replacement{Delete: rowset.At(rows[:2]...), Insert: datasettest.RowsOf(100)}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Replace(ctx, dataset.Replacement{Delete: rowset.At(rows[2:4]...), Insert: datasettest.RowsOf(200)}); err != nil {
		t.Fatal(err)
	}
	latest, err := a.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datasettest.IDsOf(t, latest, snapshot.ScanOptions{}), []int64{4, 5, 6, 7, 8, 9, 100, 200}; !cmp.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
	_, err = db.Replace(ctx, dataset.Replacement{Delete: rowset.At(rows[1:2]...)})
	if !dataset.IsRowsChanged(err) {
		t.Errorf("replacing a row that is gone: %v, want rows changed", err)
	}
	_, err = db.Replace(ctx, dataset.Replacement{Insert: datasettest.RowsOf(300), Exclusive: true})
	if !dataset.IsRowsChanged(err) {
		t.Errorf("exclusive replacement after new rows: %v, want rows changed", err)
	}
	if _, err := b.Overwrite(ctx, datasettest.RowsOf(1), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := da.Replace(ctx, dataset.Replacement{Insert: datasettest.RowsOf(300)}); !errors.Is(err, dataset.ErrConflict) {
		t.Errorf("replacement after an overwrite: %v, want ErrConflict", err)
	}
}

// A Whole replacement is planned again after every change of rows, and after no other commit.
func TestReplaceWholeSeesEachChangeOfRows(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		change func(d *dataset.Dataset) error
		again  bool
	}{
		"a row is deleted": {func(d *dataset.Dataset) error {
			_, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(datasettest.AddressesOf(t, d, nil)[5])})
			return err
		}, true},
		"a row is added": {func(d *dataset.Dataset) error {
			_, err := d.Replace(ctx, dataset.Replacement{Insert: datasettest.RowsOf(300)})
			return err
		}, true},
		"metadata is set": {func(d *dataset.Dataset) error {
			value := "v"
			_, err := d.Commit(ctx, &pb.UpdateConfig{SchemaMetadata: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: "k", Value: &value}}}})
			return err
		}, false},
	} {
		table := datasettest.TableIn(memstore.New())
		d := datasettest.Create(t, table, datasettest.UpTo(10)...)
		if err := c.change(d); err != nil {
			t.Fatal(name, err)
		}
		some := rowset.At(datasettest.AddressesOf(t, d, nil)[:2]...)
		if _, err := d.Replace(ctx, dataset.Replacement{Delete: some, Insert: datasettest.RowsOf(100), Whole: true}); dataset.IsRowsChanged(err) != c.again || err != nil && !c.again {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestFragmentThatLosesItsLastRowIsRemoved(t *testing.T) {
	ctx := t.Context()
	table := datasettest.TableIn(memstore.New())
	d := datasettest.Create(t, table, datasettest.UpTo(10)...)
	made, err := d.Replace(ctx, dataset.Replacement{Delete: rowset.At(datasettest.AddressesOf(t, d, nil)...), Insert: datasettest.RowsOf(5)})
	if err != nil {
		t.Fatal(err)
	}
	if got := made.Dataset.Stats(); len(got.Lengths) != 1 || got.Rows != 1 || got.DeletedRows != 0 {
		t.Errorf("stats %+v, want one fragment of one row", got)
	}
}

func TestConcurrentAppendsLoseNothing(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	datasettest.Create(t, datasettest.TableIn(store))
	const processes, writers, each = 4, 4, 10
	var group sync.WaitGroup
	for p := range processes {
		table := datasettest.TableIn(store)
		for w := range writers {
			group.Go(func() {
				for i := range each {
					id := int64((p*writers+w)*each + i)
					if _, err := table.Append(ctx, datasettest.RowsOf(id)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	latest, err := datasettest.TableIn(store).Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := datasettest.IDsOf(t, latest, snapshot.ScanOptions{})
	slices.Sort(got)
	if diff := cmp.Diff(datasettest.UpTo(processes*writers*each), got); diff != "" {
		t.Error(diff)
	}
	if got, most := latest.Version(), uint64(1+processes*writers*each); got > most {
		t.Errorf("version %d, want at most %d: one for each append", got, most)
	}
}

// An append is tried with a crash, and with a lost answer, at each of its requests. The
// table holds its rows afterwards once or not at all, and once when it said so.
func TestAppendSurvivesACrashAnywhere(t *testing.T) {
	ctx := t.Context()
	for n := 1; ; n++ {
		var reached atomic.Bool
		for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("500")}} {
			inner := memstore.New()
			datasettest.Create(t, datasettest.TableIn(inner), 1)
			faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
				if call.N != n {
					return faultstore.Fault{}
				}
				reached.Store(true)
				return fault
			})
			_, err := datasettest.TableIn(faulty).Append(ctx, datasettest.RowsOf(2))
			latest, openErr := datasettest.TableIn(inner).Latest(ctx)
			if openErr != nil {
				t.Fatal(openErr)
			}
			got := datasettest.IDsOf(t, latest, snapshot.ScanOptions{})
			whole := cmp.Equal(got, []int64{1, 2})
			if !whole && !cmp.Equal(got, []int64{1}) {
				t.Errorf("request %d, %+v: the table holds %v", n, fault, got)
			}
			if err == nil && !whole {
				t.Errorf("request %d, %+v: the append said yes, but the table holds %v", n, fault, got)
			}
			if err != nil && whole && !errors.Is(err, objectstore.ErrUnknownOutcome) && !errors.Is(err, faultstore.ErrCrashed) {
				t.Errorf("request %d, %+v: the append said no (%v), but the table holds %v", n, fault, err, got)
			}
		}
		if !reached.Load() {
			break
		}
	}
}

func TestReadSeesWhatAnotherProcessCommitted(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	reader, writer := datasettest.TableIn(store), datasettest.TableIn(store)
	datasettest.Create(t, writer, 1)
	for i := range int64(12) { // more than are probed one by one
		count, err := begun(ctx, reader, nil, func(_ context.Context, d *dataset.Dataset) (int64, error) { return d.CountRows(), nil })
		if err != nil || count != i+1 {
			t.Fatalf("the reader counts %d rows, %v; want %d", count, err, i+1)
		}
		if _, err := writer.Append(ctx, datasettest.RowsOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(dataset.MaxProbes + 10) {
		if _, err := writer.Append(ctx, datasettest.RowsOf(100+i)); err != nil {
			t.Fatal(err)
		}
	}
	latest, err := reader.Latest(ctx)
	if err != nil || latest.CountRows() != 13+dataset.MaxProbes+10 {
		t.Errorf("after many commits the reader counts %d rows, %v", latest.CountRows(), err)
	}
}
