// Package ivf searches indices of vectors. The vectors of a segment are divided into partitions, each
// around a centroid; a search ranks the centroids by their distance from the query and measures the rows of
// the nearest partitions. Package quantize encodes the vectors of a partition, and package hnsw searches
// the graph of a partition.
//
// For example, an IVF_PQ index of vectors with 256 dimensions has 1,024 partitions and 32 sub-vectors of 8
// bits. A query for the 10 nearest rows is compared with the 1,024 centroids, and [Index.Read] fetches the
// nearest partitions, 20 for instance: an id and a code of 32 bytes for each row. The query has a table of
// 32 × 256 products. [Search.Look] sums up 32 of its entries for each row, and adds the rows with the least
// distances to the result.
//
// A segment is two files, each an ordinary data file. Their schemas have text metadata. A large segment has a third file
// that repeats the centroids in groups: groups.go.
//
//	index.idx      lance:index       {"type": "IVF_PQ", "distance_type": "l2"}
//	               lance:ivf         number of the global buffer with the model: centroids and,
//	                                 under a graph, the rows of this file that belong to each partition
//	               lance:hnsw        the graphs: a JSON list with a JSON text for each partition
//	auxiliary.idx  lance:ivf         number of the global buffer with the rows of each partition
//	               storage_metadata  of the quantizer: a JSON list of one JSON text
//	               distance_type
//
// Rows of auxiliary.idx are _rowid and the columns of the quantizer. The rows of a partition are
// contiguous. NULL and non-finite vectors are not indexed. Each vector of a list of vectors has a row of
// its own.
//
// A row id is the address that the row had when the segment was written or, in a table that gives its rows
// stable ids, the id.
//
// Source: vector/ivf/v2.rs of crate lance, vector/ivf/storage.rs of crate lance-index.
package ivf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// Names of the files of a segment.
const (
	indexFile   = "index.idx"
	storageFile = "auxiliary.idx"
)

// An Index is an open segment of a vector index. It is safe for concurrent use.
type Index struct {
	Kind    string // IVF_PQ, IVF_HNSW_SQ …
	Metric  vector.Metric
	Element arrow.Type // of the vectors
	Dim     int

	files     index.Files
	centroids *quantize.Tensor // nil if there are groups
	rows      []span           // of the storage file, by partition; nil if there are groups
	groups    *groups          // nil: the segment has none
	members   *members         // of groups that were read
	storage   *datafile.File
	fields    []*schema.Field // _rowid and the codes
	quantizer quantize.Quantizer
	graphs    *graphs // nil: partitions have none
}

// QueryBytes estimates the memory of a search for its prepared query, without the distances to the
// centroids.
func (x *Index) QueryBytes() int64 { return x.quantizer.QueryBytes() }

// Partitions returns the number of partitions.
func (x *Index) Partitions() int {
	if x.groups != nil {
		return x.groups.partitions
	}
	return len(x.rows)
}

// span returns the rows of a partition in the storage file. If there are groups, that of the partition was read.
func (x *Index) span(number int) span {
	if x.groups != nil {
		return x.members.of(number).rows
	}
	return x.rows[number]
}

// Open returns an open segment, cached or read from storage. If the segment has groups, searches read only some of its
// centroids.
func Open(ctx context.Context, files index.Files) (*Index, error) {
	kept, err := files.Keep("opened", func() (any, int64, error) {
		var x *Index
		var err error
		if slices.Contains(files.Names(), groupsFile) {
			if x, err = openGrouped(ctx, files); err != nil && !isOptional(ctx, err) {
				return nil, 0, err
			}
		}
		if x == nil || err != nil {
			x, err = open(ctx, files)
		}
		if err != nil {
			return nil, 0, err
		}
		return x, x.bytes(), nil
	})
	if err != nil {
		return nil, err
	}
	x := *kept.(*Index)
	x.files = files
	if x.groups != nil {
		x.members = &members{have: map[int]member{}, read: map[int]*group{}}
	}
	return &x, nil
}

func (x *Index) bytes() int64 {
	const perPartition = 16
	n := perPartition*int64(len(x.rows)) + x.quantizer.Bytes()
	if x.centroids != nil {
		n += 5 * int64(len(x.centroids.Values))
	}
	if x.groups != nil {
		n += 5*int64(len(x.groups.means.Values)) + perPartition*int64(len(x.groups.rows))
	}
	if x.graphs != nil {
		n += x.graphs.bytes()
	}
	return n
}

// A described is a file of a segment with the metadata of its schema.
type described struct {
	*datafile.File
	name   string
	schema *schema.Schema
}

func describe(ctx context.Context, files index.Files, name string) (described, error) {
	file, err := files.Open(ctx, name)
	if err != nil {
		return described{}, err
	}
	s, err := file.Schema(ctx)
	if err != nil {
		return described{}, fmt.Errorf("%s: %w", name, err)
	}
	return described{file, name, s}, nil
}

// buffer reads a global buffer, after it has reserved the memory for decoding it.
func (d described) buffer(ctx context.Context, number int) ([]byte, error) {
	if err := memory.FromContext(ctx).Take(ctx, quantize.TensorMemory(d.GlobalBufferSize(number))); err != nil {
		return nil, err
	}
	return d.GlobalBuffer(ctx, number)
}

// model reads the model that the metadata of the file name by a key.
func (d described) model(ctx context.Context, key string) (*model, error) {
	number, err := strconv.Atoi(d.schema.Metadata[key])
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %s %q is no number of a buffer", lance.ErrCorrupt, d.name, key, d.schema.Metadata[key])
	}
	message, err := d.buffer(ctx, number)
	if err != nil {
		return nil, err
	}
	m, err := decodeModel(message)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return m, nil
}

// modelKey is the key in the metadata of both files for the number of the buffer with the model.
const modelKey = "lance:ivf"

// open reads both files in parallel, and then their buffers.
func open(ctx context.Context, files index.Files) (*Index, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	var top, storage described
	err = sideBySide(ctx,
		func(ctx context.Context) (err error) { top, err = describe(ctx, files, indexFile); return err },
		func(ctx context.Context) (err error) { storage, err = describe(ctx, files, storageFile); return err })
	if err != nil {
		return nil, err
	}
	x := &Index{storage: storage.File}
	spec, err := x.describedBy(top, storage)
	if err != nil {
		return nil, err
	}
	var places, around *model
	err = sideBySide(ctx,
		func(ctx context.Context) (err error) { around, err = top.model(ctx, modelKey); return err },
		func(ctx context.Context) (err error) { places, err = storage.model(ctx, modelKey); return err },
		func(ctx context.Context) (err error) {
			spec.Buffer, err = storage.quantizerBuffer(ctx, spec)
			return err
		})
	if err != nil {
		return nil, err
	}
	x.centroids, x.rows = around.centroids, places.rows
	if x.centroids == nil {
		return nil, fmt.Errorf("%w: %s has no centroids", lance.ErrCorrupt, indexFile)
	}
	if len(x.rows) != x.centroids.Rows {
		return nil, fmt.Errorf("%w: %d partitions with %d centroids", lance.ErrCorrupt, len(x.rows), x.centroids.Rows)
	}
	for i, r := range x.rows {
		if r.to() > storage.NumRows() {
			return nil, fmt.Errorf("%w: partition %d ends at row %d of %d", lance.ErrCorrupt, i, r.to(), storage.NumRows())
		}
	}
	if err := x.join(storage, x.centroids, x.centroids.Rows, spec); err != nil {
		return nil, err
	}
	if strings.HasPrefix(x.Kind, "IVF_HNSW_") {
		if x.graphs, err = newGraphs(top, around.rows, x.rows); err != nil {
			return nil, fmt.Errorf("%s: %w", indexFile, err)
		}
	}
	return x, nil
}

// describedBy sets the kind and the metric by the metadata of the files, and returns those of the quantizer.
func (x *Index) describedBy(top, storage described) (spec quantize.Spec, err error) {
	if err := x.readKind(top.schema.Metadata[kindKey]); err != nil {
		return spec, fmt.Errorf("%s: %w", top.name, err)
	}
	spec = quantize.Spec{Kind: x.Kind[strings.LastIndexByte(x.Kind, '_')+1:], Metric: x.Metric}
	if spec.Metadata, err = onlyText(storage.schema.Metadata["storage_metadata"]); err != nil {
		return spec, fmt.Errorf("%s: %w", storageFile, err)
	}
	return spec, nil
}

// quantizerBuffer reads the buffer of the quantizer, if it has one.
func (d described) quantizerBuffer(ctx context.Context, spec quantize.Spec) ([]byte, error) {
	number, err := quantize.BufferOf(spec.Metadata)
	if err != nil || number <= 0 {
		return nil, err
	}
	return d.buffer(ctx, number)
}

// sideBySide does several things at once.
func sideBySide(ctx context.Context, parts ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		group.Go(func() (err error) {
			defer contain(&err)
			return part(ctx)
		})
	}
	return group.Wait()
}

// contain turns a panic in a goroutine, which nothing else could catch, into an error.
func contain(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: panic while reading: %v", lance.ErrCorrupt, r)
	}
}

// readKind parses the kind and the metric of the segment.
func (x *Index) readKind(text string) error {
	var d kindOf
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("%w: lance:index: %w", lance.ErrCorrupt, err)
	}
	switch d.Type {
	case "IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_PQ", "IVF_HNSW_SQ":
	default:
		return fmt.Errorf("%w: index of type %q", lance.ErrUnsupported, d.Type)
	}
	metric, err := vector.ParseMetric(d.Metric)
	if err != nil {
		return fmt.Errorf("%w: %w", lance.ErrUnsupported, err)
	}
	x.Kind, x.Metric = d.Type, metric
	return nil
}

// onlyText returns the only element of a JSON list of texts.
func onlyText(list string) ([]byte, error) {
	var texts []string
	if err := json.Unmarshal([]byte(list), &texts); err != nil {
		return nil, fmt.Errorf("%w: storage_metadata: %w", lance.ErrCorrupt, err)
	}
	if len(texts) != 1 {
		return nil, fmt.Errorf("%w: storage_metadata of %d texts", lance.ErrCorrupt, len(texts))
	}
	return []byte(texts[0]), nil
}

// join checks that the two files of a segment agree, and sets up the quantizer. vectors are centroids, or means of them.
func (x *Index) join(storage described, vectors *quantize.Tensor, partitions int, spec quantize.Spec) error {
	x.Element, x.Dim = vectors.Element, vectors.Width
	if (x.Element == arrow.UINT8) != (x.Metric == vector.Hamming) {
		return fmt.Errorf("%w: vectors of %s under %s", lance.ErrUnsupported, x.Element, x.Metric)
	}
	spec.Dim, spec.Element, spec.Centroids = x.Dim, x.Element, partitions
	var err error
	if x.quantizer, err = quantize.New(spec); err != nil {
		return fmt.Errorf("%s: %w", storageFile, err)
	}
	x.fields, err = fieldsOf(storage, x.quantizer.Columns())
	return err
}

// fieldsOf returns the columns of the storage file, after a check of their types.
func fieldsOf(storage described, columns []quantize.Column) ([]*schema.Field, error) {
	id := storage.schema.Field("_rowid")
	if id == nil || id.Arrow().Type.ID() != arrow.UINT64 {
		return nil, fmt.Errorf("%w: %s has no row ids", lance.ErrCorrupt, storage.name)
	}
	fields := []*schema.Field{id}
	for _, c := range columns {
		field := storage.schema.Field(c.Name)
		if field == nil || !holds(field.Arrow().Type, c) {
			return nil, fmt.Errorf("%w: %s has no column %s of %d times %s", lance.ErrCorrupt, storage.name, c.Name, max(c.Width, 1), c.Element)
		}
		fields = append(fields, field)
	}
	return fields, nil
}

func holds(t arrow.DataType, c quantize.Column) bool {
	if c.Width == 0 {
		return t.ID() == c.Element
	}
	list, ok := t.(*arrow.FixedSizeListType)
	return ok && int(list.Len()) == c.Width && list.Elem().ID() == c.Element
}

// errNotKept reports that a partition is not cached.
var errNotKept = errors.New("not kept")
