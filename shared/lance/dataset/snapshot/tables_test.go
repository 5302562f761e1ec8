package snapshot_test

import (
	"time"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/storage/objectstore"
)

// tableIn returns the table of a process that has read nothing yet.
func tableIn(store objectstore.Store) *dataset.Table {
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	return dataset.NewSession(64<<20, time.Now).Table(at, 0)
}

func rowsOf(ids ...int64) dataset.Rows {
	return dataset.Rows{Schema: datasettest.People, Batches: datasettest.BatchesOf(ids...)}
}
