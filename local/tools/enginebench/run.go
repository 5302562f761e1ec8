package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/faultstore"
)

// A request is one operation on the table at Path, which is opened again for each request.
type request struct {
	Do      string   `json:"do"` // scan, take, write, load or index
	Path    string   `json:"path"`
	Columns []string `json:"columns"` // of a scan or take; none means all
	Rows    []uint64 `json:"rows"`    // row addresses of a take
	Source  string   `json:"source"`  // for a write: the path of an Arrow stream that was loaded
	Kind    string   `json:"kind"`    // kind of the index on the first column, which replaces a former one
}

// An answer is the cost of a request.
type answer struct {
	Seconds  float64 `json:"seconds"`
	Rows     int64   `json:"rows"`
	Requests int     `json:"requests"`    // read requests to storage
	Bytes    int64   `json:"bytes"`       // bytes read from storage
	PeakRSS  int64   `json:"peak_rss_kb"` // maximum of the process so far
}

// A source contains rows in memory.
type source struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
}

// run performs a request and measures it. Opening the store does not count.
func (r *request) run(ctx context.Context, sources map[string]source) (answer, error) {
	if r.Do == "load" {
		loaded, err := load(r.Path)
		sources[r.Path] = loaded
		return answer{}, err
	}
	dir, name := filepath.Split(r.Path)
	disk, err := diskstore.Open(dir)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = disk.Close() }()
	counting := faultstore.New(disk, nil)
	runtime.GC() // so that garbage of earlier requests is not collected during this one

	began := time.Now()
	at := objectstore.Location{URI: "file://" + r.Path, Store: counting, Prefix: name}
	if r.Do == "write" || r.Do == "index" {
		at.Store = disk // counting keeps written objects in memory
	}
	session := dataset.NewSession(0, time.Now)
	table := session.Table(at, 0)
	var done answer
	switch r.Do {
	case "scan":
		done.Rows, err = scan(ctx, table, r.Columns)
	case "take":
		done.Rows, err = take(ctx, table, r.Columns, r.Rows)
	case "write":
		done.Rows, err = write(ctx, table, sources[r.Source])
	case "index":
		err = buildIndex(ctx, engine.New(session, engine.Limits{}).Table(nil, at), r.Columns[0], r.Kind)
	default:
		err = errors.New("not known")
	}
	done.Seconds = time.Since(began).Seconds()
	counts := counting.Snapshot()
	// Exclude the listing, which native Lance does not count, either.
	done.Requests, done.Bytes = counts.Requests-counts.ByKind[faultstore.List], counts.ReadBytes
	if err == nil {
		done.PeakRSS, err = peakRSS()
	}
	return done, err
}

// load reads an Arrow stream into memory.
func load(path string) (source, error) {
	file, err := os.Open(path)
	if err != nil {
		return source{}, err
	}
	defer func() { _ = file.Close() }()
	reader, err := arrowipc.NewReader(context.Background(), file, arrowipc.Limits{})
	if err != nil {
		return source{}, err
	}
	loaded := source{schema: reader.Schema()}
	for {
		batch, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return loaded, nil
		}
		if err != nil {
			return source{}, err
		}
		loaded.batches = append(loaded.batches, batch)
	}
}

func scan(ctx context.Context, table *dataset.Table, columns []string) (int64, error) {
	latest, err := table.Latest(ctx)
	if err != nil {
		return 0, err
	}
	_, batches, err := latest.Scan(ctx, snapshot.ScanOptions{Columns: columns})
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	for batch, err := range batches {
		if err != nil {
			return 0, err
		}
		rows += batch.NumRows()
	}
	return rows, nil
}

// buildIndex builds an index with the usual parameters; a vector index uses L2.
func buildIndex(ctx context.Context, table *engine.Table, column, kind string) error {
	x := indexbuild.Index{Name: column + "_idx", Column: column, Kind: indexmeta.KindNamed(kind), Replace: true}
	switch x.Kind {
	case indexmeta.Text:
		x.Params = fulltext.DefaultParams()
	case indexmeta.Vector:
		x.Params = ivf.Recipe{Kind: kind, Metric: "l2"}
	}
	_, err := indices.Create(ctx, table, x)
	return err
}

func take(ctx context.Context, table *dataset.Table, columns []string, addresses []uint64) (int64, error) {
	latest, err := table.Latest(ctx)
	if err != nil {
		return 0, err
	}
	batch, err := latest.Take(ctx, columns, addresses)
	if err != nil {
		return 0, err
	}
	return batch.NumRows(), nil
}

// write creates a table from rows in memory.
func write(ctx context.Context, table *dataset.Table, from source) (int64, error) {
	made, err := table.Create(ctx, dataset.Rows{Schema: from.schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for _, batch := range from.batches {
			if !yield(batch, nil) {
				return
			}
		}
	}})
	return made.Rows, err
}

// peakRSS returns the maximum resident memory of the process in KiB, as Linux reports it.
func peakRSS() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kib int64
			_, err := fmt.Sscan(rest, &kib)
			return kib, err
		}
	}
	return 0, errors.New("no VmHWM in /proc/self/status")
}
