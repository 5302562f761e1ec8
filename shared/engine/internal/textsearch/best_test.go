package textsearch

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
)

// nativeTexts is the table in testdata/text of package engine.
func nativeTexts(t *testing.T) *dataset.Dataset {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "t.lance"), os.DirFS("../../testdata/text/table.lance")); err != nil {
		t.Fatal(err)
	}
	store, err := diskstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	d, err := dataset.NewSession(64<<20, time.Now).Table(at, 0).Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// When there is no room for the counts of all rows, they are scored in a second reading.
func TestScoresDoNotDependOnTheRoomForCounts(t *testing.T) {
	data, err := os.ReadFile("../../testdata/text/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct {
		Request queryapi.Request
		Scores  map[int64]float64 // by id
	}
	if err := json.Unmarshal(data, &answers); err != nil {
		t.Fatal(err)
	}
	d := nativeTexts(t)
	indexes, err := IndexesOf(d)
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range answers[:20] {
		query, elements, err := indexes.Convert(answer.Request.FullTextQuery)
		if err != nil {
			t.Fatal(err)
		}
		filter := ""
		if answer.Request.Prefilter {
			filter = answer.Request.Filter
		}
		among, err := condition.NewRows(t.Context(), condition.Relation{Dataset: d}, filter, false, prefilter.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		search, err := New(t.Context(), d, query, Options{Among: among, Elements: elements, Made: func(arrow.RecordBatch) {}})
		if err != nil {
			t.Fatal(err)
		}
		search.budget = 0
		hits, err := search.Best(t.Context(), math.MaxInt64, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) != len(answer.Scores) {
			t.Errorf("query %d finds %d rows, want %d", i, len(hits), len(answer.Scores))
		}
	}
}
