package dataset_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Results do not depend on the cache. A random history of tables, clones and branches by
// independent writers is read in random order by a process with a full cache and by one that starts
// without a cache for each read.
func TestWarmProcessReadsWhatColdOneReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWarmWorld(t)
		for range rapid.IntRange(10, 24).Draw(t, "steps") {
			changed := w.change()
			for _, what := range []string{"newest", "branch", "refs"} {
				w.compareAt(changed, what, nil)
			}
			for range rapid.IntRange(0, 3).Draw(t, "reads") {
				w.compare()
			}
		}
		w.compareAll()
	})
}

// warmWorld is a store that many write to, and a process that reads it all along.
type warmWorld struct {
	t      *rapid.T
	store  objectstore.Store
	warm   *dataset.Session
	counts map[string]int // of rows and values made so far, so that no two are the same
}

// sole is an exclusive location; at the other locations, tables come and go.
const sole = "sole"

var warmPlaces = []string{"prod", "dev", sole}

// warmNow is the clock of all sessions. It runs ahead, so that all objects are old enough to be
// cached by ETag.
func warmNow() time.Time { return time.Now().Add(time.Hour) }

func newWarmWorld(t *rapid.T) *warmWorld {
	w := &warmWorld{t: t, store: memstore.New(), counts: map[string]int{}}
	if rapid.Bool().Draw(t, "near") {
		w.store = datasettest.NearStore{Store: w.store}
	}
	w.warm = dataset.NewSession(64<<20, warmNow)
	return w
}

func (w *warmWorld) at(s *dataset.Session, place string) *dataset.Table {
	key := place + ".lance"
	table := s.Table(objectstore.Location{URI: "memory://test/" + key, Store: w.store, Prefix: key}, 0)
	if place == sole {
		return table.Sole()
	}
	return table
}

// other returns a table as a new process sees it.
func (w *warmWorld) other(place string) *dataset.Table {
	return w.at(dataset.NewSession(64<<20, warmNow), place)
}

// next returns a number that was not there before. All have as many digits and bits, so that
// files of as many rows are often of one size.
func (w *warmWorld) next(what string) int {
	w.counts[what]++
	return 1<<20 + w.counts[what]
}

var warmColumns = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "p", Type: arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	), Nullable: true},
}, nil)

// rows makes rows of values that were not there before, in columns of a schema.
func (w *warmWorld) rows(s *arrow.Schema, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for range n {
		for _, f := range b.Fields() {
			w.appendValue(f)
		}
	}
	return b.NewRecordBatch()
}

func (w *warmWorld) appendValue(b array.Builder) {
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(int64(w.next("values")))
	case *array.StringBuilder:
		b.Append(fmt.Sprint("s", w.next("values")))
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			w.appendValue(b.FieldBuilder(i))
		}
	default:
		b.AppendNull()
	}
}

func rowsFrom(batch arrow.RecordBatch) dataset.Rows {
	return dataset.Rows{Schema: batch.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

var warmReads = []string{"newest", "version", "branch", "tag", "refs", "versions"}

// compare reads something, warm and cold.
func (w *warmWorld) compare() {
	w.compareAt(rapid.SampledFrom(warmPlaces).Draw(w.t, "place"), rapid.SampledFrom(warmReads).Draw(w.t, "what"), nil)
}

// compareAll reads all versions, with and without a cache.
func (w *warmWorld) compareAll() {
	for _, place := range warmPlaces {
		for _, what := range warmReads {
			if what != "version" {
				w.compareAt(place, what, nil)
			}
		}
		versions, err := w.other(place).Versions(context.Background(), nil, -1)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, info := range versions {
			version := dataset.VersionOf(info)
			w.compareAt(place, "version", &version)
		}
	}
}

func (w *warmWorld) compareAt(place, what string, version *uint64) {
	if what == "version" && version == nil {
		drawn := rapid.Uint64Range(1, 6).Draw(w.t, "version")
		version = &drawn
	}
	got, want := w.told(w.at(w.warm, place), what, version), w.told(w.other(place), what, version)
	// A clone whose source was dropped has lost its files. The warm process may still have them
	// cached.
	if got != want && !strings.Contains(want, objectstore.ErrNotExist.Error()) {
		w.t.Fatalf("%s of %s, version %v:\nthe warm process reads\n%s\nthe cold one\n%s", what, place, version, got, want)
	}
}

// told returns the content of a table at some version, or the error of reading it.
func (w *warmWorld) told(table *dataset.Table, what string, version *uint64) string {
	ctx := context.Background()
	var text string
	var err error
	switch what {
	case "newest":
		text, err = begun(ctx, table, nil, tellRows)
	case "version":
		text, err = begun(ctx, table, version, tellRows)
	case "branch":
		var branch *dataset.Table
		if branch, err = branches.Open(ctx, table, "b"); err == nil {
			text, err = begun(ctx, branch, nil, tellRows)
		}
	case "tag":
		var d *dataset.Dataset
		if d, err = datasettest.Tagged(ctx, table, "x"); err == nil {
			text, err = tellRows(ctx, d)
		}
	case "refs":
		text, err = tellRefs(ctx, table)
	case "versions":
		var versions []objectstore.Info
		versions, err = table.Versions(ctx, nil, -1)
		text = fmt.Sprint(versions)
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return text
}

// begun reads optimistically, as with Begin and confirm.
func begun[T any](ctx context.Context, table *dataset.Table, number *uint64, work func(context.Context, *dataset.Dataset) (T, error)) (T, error) {
	d, confirm, err := table.Begin(ctx, number)
	if err != nil {
		var none T
		return none, err
	}
	result, err := work(ctx, d)
	if confirm == nil {
		return result, err
	}
	right, wrong := confirm()
	if right == nil || wrong != nil {
		return result, cmp.Or(wrong, err)
	}
	return work(ctx, right)
}

// tellRefs writes out the tags and branches as they are listed.
func tellRefs(ctx context.Context, table *dataset.Table) (string, error) {
	tags, _, err := table.Refs().Tags(ctx, "", 0)
	if err != nil {
		return "", err
	}
	branches, _, err := table.Refs().Branches(ctx, "", 0)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{tags, branches})
	return string(text), err
}

// tellRows formats a version: each column separately, so that an unreadable one does not hide the
// others, rows by address, addresses of row ids, and the index.
func tellRows(ctx context.Context, d *dataset.Dataset) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d of %d rows: %s\n", d.Version(), d.CountRows(), d.ScanSchema())
	for _, f := range d.Schema().Fields {
		fmt.Fprintf(&b, "%s:", f.Name)
		_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{f.Name, snapshot.RowAddr}})
		if err != nil {
			fmt.Fprintf(&b, " %v\n", err)
			continue
		}
		for batch, err := range batches {
			if err != nil {
				fmt.Fprintf(&b, " %v", err)
				break
			}
			fmt.Fprintf(&b, " %v %v", batch.Column(0), batch.Column(1))
		}
		b.WriteByte('\n')
	}
	addresses, err := d.Addresses(ctx, warmIDs)
	fmt.Fprintf(&b, "ids at %x %v\n", addresses, err)
	index, err := d.IndexMetadata(ctx, warmIndex, warmIndexFile)
	fmt.Fprintf(&b, "index %v %v\n", index, err)
	for _, file := range d.Manifest().Fragments {
		for i := range file.Files {
			fmt.Fprintf(&b, "%s ", path.Base(file.Files[i].Path))
		}
	}
	return b.String(), nil
}
