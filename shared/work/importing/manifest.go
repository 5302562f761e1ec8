package importing

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// The table __manifest of a directory namespace has a row for each object:
//
//	object_id    "a$b$t": the id, joined
//	object_type  "namespace" or "table"; rows of other types describe versions and the like
//	location     of a table: its folder, below the folder of the namespace
//	metadata     properties, a JSON object of strings; may be null
//
// Source: the columns as lance-namespace-impls 14.0.2 writes them.
const (
	manifestFolder    = "__manifest"
	manifestDelimiter = "$"
)

var manifestColumns = []string{"object_id", "object_type", "location", "metadata"}

// readManifest returns the items that the manifest in a folder lists.
func (a *importer) readManifest(ctx context.Context, from folder) ([]item, error) {
	at, err := from.at(manifestFolder)
	if err != nil {
		return nil, err
	}
	table := a.rows.Table([]string{manifestFolder}, at)
	return engine.Read(ctx, table, nil, func(ctx context.Context, d *dataset.Dataset) ([]item, error) {
		_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: manifestColumns})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", at.URI, err)
		}
		var items []item
		for batch, err := range batches {
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", at.URI, err)
			}
			for i := range int(batch.NumRows()) {
				if it, ok := itemOf(from, rowOf(batch, i)); ok {
					items = append(items, it)
				}
			}
		}
		return items, nil
	})
}

// A row is a row of the manifest. A null is read as "".
type row struct{ id, kind, location, metadata string }

// rowOf returns row i of a batch with the columns manifestColumns.
func rowOf(batch arrow.RecordBatch, i int) row {
	var values [4]string
	for column := range values {
		if data := batch.Column(column); !data.IsNull(i) {
			values[column] = data.ValueStr(i)
		}
	}
	return row{values[0], values[1], values[2], values[3]}
}

// itemOf returns the item of a row; ok is false for a row of another object type.
func itemOf(from folder, r row) (it item, ok bool) {
	if r.kind != namespaceKind && r.kind != tableKind {
		return item{}, false
	}
	it = item{kind: r.kind, id: strings.Split(r.id, manifestDelimiter), place: r.location, declared: true}
	if r.metadata != "" {
		if err := json.Unmarshal([]byte(r.metadata), &it.properties); err != nil {
			it.problem = "its metadata is not an object of strings"
		}
	}
	if r.kind == namespaceKind {
		return it, true
	}
	at, err := from.at(r.location)
	// Some writers store absolute locations.
	if strings.Contains(r.location, "://") || strings.HasPrefix(r.location, "/") {
		at, err = from.roots.Resolve(r.location)
	}
	if err != nil {
		it.problem = err.Error()
		return it, true
	}
	it.at, it.place = at, at.URI
	return it, true
}
