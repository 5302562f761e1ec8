package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/local/rowfile"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
)

const (
	blobKey      = "lance-encoding:blob"
	extensionKey = "ARROW:extension:name"
	rowIDColumn  = "_rowid"
	// blobRows bounds the rows whose blobs one request asks for.
	blobRows = 1024
	// blobPart is how much of a blob one request asks for where a gateway does not deliver the whole. A
	// function delivers 4.5 MB.
	blobPart = 4 << 20
	// calm is the number of requests after which one asks for the blobs of more rows again.
	calm = 16
)

// wholeRows returns the rows of a query with the bytes of their blobs. A query has positions of blobs
// instead; the bytes are requested as the rows are read, and the server sends them in batches of 16 MiB
// or of one larger blob, or behind a gateway in less (see [blobReader.fetch]). The blobs have the form in which tables and typed files take them:
//
//	large_binary, with the metadata lance-encoding:blob=true
//
// The caller calls done at the end.
func wholeRows(ctx context.Context, c *client.Client, req *queryapi.Request) (source client.Source, done func(), err error) {
	rows, err := allRows(ctx, c, req)
	if err != nil {
		return source, nil, err
	}
	err = refuseBlobsWithin(rows.Schema())
	blobs := blobColumns(rows.Schema())
	if err == nil && len(blobs) == 0 {
		return sourceOf(rows), rows.Close, nil
	}
	rows.Close()
	if err != nil {
		return source, nil, err
	}
	// The same rows again, with the ids by which blobs are requested.
	pinned := *req
	pinned.WithRowID = true
	if rows.Version > 0 {
		pinned.Version = &rows.Version
	}
	about, err := c.DescribeTable(ctx, &tableapi.DescribeRequest{Common: req.Common, Version: pinned.Version, Branch: req.Branch, LoadDetailedMetadata: true, VendCredentials: new(false)})
	if err != nil {
		return source, nil, err
	}
	if rows, err = allRows(ctx, c, &pinned); err != nil {
		return source, nil, err
	}
	r := &blobReader{
		client: c, schema: wholeSchema(rows.Schema(), blobs, about.Schema), columns: blobs, paces: map[int]*pace{},
		values: queryapi.FetchBlobsRequest{Common: req.Common, Version: pinned.Version, Branch: req.Branch},
	}
	return client.Source{Schema: r.schema, Once: true, Batches: r.batches(ctx, rows)}, rows.Close, nil
}

// allRows returns the rows of a query. If they are more than a gateway delivers, the server writes them to storage,
// and they are read from there.
func allRows(ctx context.Context, c *client.Client, req *queryapi.Request) (*client.Rows, error) {
	rows, err := c.QueryTable(ctx, req)
	if !beyondGateway(err) {
		return rows, err
	}
	stored, err := c.StoreQuery(ctx, req)
	if err != nil {
		return nil, advisedTooLarge(err, "copy some of the rows at a time, by tiltyard export with --where or --columns")
	}
	if rows, err = c.ReadTableResult(ctx, &queryapi.ReadResultRequest{Common: req.Common, ResultID: stored.ID}); err == nil {
		rows.Version = stored.Version
	}
	return rows, err
}

// blobColumns returns the positions of the columns of blobs.
func blobColumns(schema *arrow.Schema) (found []int) {
	for i, field := range schema.Fields() {
		if isBlob(field) {
			found = append(found, i)
		}
	}
	return found
}

// refuseBlobsWithin refuses blobs inside of other columns.
func refuseBlobsWithin(schema *arrow.Schema) error {
	for _, field := range schema.Fields() {
		if within := blobWithin(field.Type); !isBlob(field) && within != "" {
			return protocol.Errorf(protocol.Unsupported, "column %s has blobs inside, in %s; only blobs that are columns are copied. Copy the files of the table and register them", field.Name, within)
		}
	}
	return nil
}

func isBlob(field arrow.Field) bool {
	extension, _ := field.Metadata.GetValue(extensionKey)
	blob, _ := field.Metadata.GetValue(blobKey)
	return blob == "true" || strings.HasPrefix(extension, "lance.blob")
}

// blobWithin returns the name of a blob below a type, or "".
func blobWithin(typ arrow.DataType) string {
	nested, ok := typ.(arrow.NestedType)
	if !ok {
		return ""
	}
	for _, field := range nested.Fields() {
		if isBlob(field) {
			return field.Name
		}
		if path := blobWithin(field.Type); path != "" {
			return path
		}
	}
	return ""
}

// wholeSchema returns the columns of a query with blobs as binaries, and without the row ids. The query
// lacks the other metadata of blobs, such as the sizes from which they are stored apart.
func wholeSchema(schema *arrow.Schema, blobs []int, stored *protocol.JSONSchema) *arrow.Schema {
	fields := slices.Clone(schema.Fields())
	for _, i := range blobs {
		metadata := map[string]string{}
		if stored != nil {
			at := slices.IndexFunc(stored.Fields, func(f protocol.JSONField) bool { return f.Name == fields[i].Name })
			if at >= 0 {
				maps.Copy(metadata, stored.Fields[at].Metadata)
			}
		}
		delete(metadata, extensionKey)
		metadata[blobKey] = "true"
		fields[i].Type, fields[i].Metadata = arrow.BinaryTypes.LargeBinary, arrow.MetadataFrom(metadata)
	}
	fields = slices.DeleteFunc(fields, func(f arrow.Field) bool { return f.Name == rowIDColumn })
	metadata := schema.Metadata()
	return arrow.NewSchema(fields, &metadata)
}

// A blobReader replaces positions of blobs by their bytes.
type blobReader struct {
	client  *client.Client
	schema  *arrow.Schema              // of the result
	columns []int                      // of blobs
	values  queryapi.FetchBlobsRequest // without column and rows
	paces   map[int]*pace              // by column
}

// A pace is the number of rows whose blobs one request asks for. It is halved when an answer was more than a gateway
// delivers, and doubled again after some answers.
type pace struct{ rows, answers int }

func (p *pace) slower(rows int) { *p = pace{rows: max(1, rows/2)} }

func (p *pace) answered() {
	if p.answers++; p.answers == calm {
		*p = pace{rows: min(2*p.rows, blobRows)}
	}
}

// batches returns the rows with their blobs, in batches of the sizes in which the blobs come.
func (r *blobReader) batches(ctx context.Context, rows *client.Rows) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range rows.Batches() {
			if err != nil {
				yield(nil, err)
				return
			}
			for from := int64(0); from < batch.NumRows(); from += blobRows {
				part := batch.NewSlice(from, min(from+blobRows, batch.NumRows()))
				more, err := r.fill(ctx, part, yield)
				if err != nil {
					yield(nil, err)
				}
				if err != nil || !more {
					return
				}
			}
		}
	}
}

// fill yields rows with their blobs, and reports whether to go on.
func (r *blobReader) fill(ctx context.Context, rows arrow.RecordBatch, yield func(arrow.RecordBatch, error) bool) (more bool, err error) {
	ids, err := rowIDs(rows)
	if err != nil {
		return false, err
	}
	streams := map[int]*blobStream{}
	for _, i := range r.columns {
		if r.paces[i] == nil {
			r.paces[i] = &pace{rows: blobRows}
		}
		streams[i] = &blobStream{}
		var stop func()
		streams[i].next, stop = iter.Pull2(r.fetch(ctx, rows.ColumnName(i), ids, r.paces[i]))
		defer stop()
	}
	for from := int64(0); from < rows.NumRows(); {
		size := rows.NumRows() - from
		for i, stream := range streams {
			if err := stream.read(); err != nil {
				return false, fmt.Errorf("the blobs of column %s: %w", rows.ColumnName(i), err)
			}
			size = min(size, int64(stream.values.Len()))
		}
		var columns []arrow.Array
		for i := range int(rows.NumCols()) {
			switch stream := streams[i]; {
			case stream != nil:
				columns = append(columns, stream.take(size))
			case rows.ColumnName(i) != rowIDColumn:
				columns = append(columns, array.NewSlice(rows.Column(i), from, from+size))
			}
		}
		from += size
		if !yield(array.NewRecordBatch(r.schema, columns, size), nil) {
			return false, nil
		}
	}
	return true, nil
}

// fetch yields the blobs of rows, in their order. If the answer is more than a gateway delivers, it asks for those of
// fewer rows; and a blob that is more by itself is read in parts.
func (r *blobReader) fetch(ctx context.Context, column string, ids []uint64, at *pace) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for len(ids) > 0 {
			values := r.values
			values.Column, values.RowIDs = column, ids[:min(at.rows, len(ids))]
			asked := len(values.RowIDs)
			answer, err := r.client.FetchTableBlobs(ctx, &values)
			switch {
			case beyondGateway(err) && asked > 1:
				at.slower(asked)
				continue
			case beyondGateway(err):
				if blob, err := r.inParts(ctx, column, ids[0]); !yield(blob, err) || err != nil {
					return
				}
			case err != nil:
				yield(nil, err)
				return
			case !yieldAll(answer, yield):
				return
			default:
				at.answered()
			}
			ids = ids[asked:]
		}
	}
}

// yieldAll yields the batches of an answer and closes it. It reports whether to go on.
func yieldAll(answer *client.Rows, yield func(arrow.RecordBatch, error) bool) bool {
	defer answer.Close()
	for batch, err := range answer.Batches() {
		if !yield(batch, err) || err != nil {
			return false
		}
	}
	return true
}

// inParts returns one blob, which is read in parts of [blobPart].
func (r *blobReader) inParts(ctx context.Context, column string, id uint64) (arrow.RecordBatch, error) {
	req := &queryapi.ReadBlobRequest{Common: r.values.Common, Version: r.values.Version, Branch: r.values.Branch, Column: column, RowID: strconv.FormatUint(id, 10)}
	var whole []byte
	for size := int64(1); int64(len(whole)) < size; {
		blob, err := r.client.ReadTableBlob(ctx, req, client.Part{From: int64(len(whole)), Size: blobPart})
		if err != nil {
			return nil, fmt.Errorf("the blob of row id %d, from byte %d on: %w", id, len(whole), err)
		}
		part, err := io.ReadAll(blob)
		_ = blob.Close() // it was read before
		if err == nil && len(part) == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("the blob of row id %d, after %d of %d bytes: %w", id, len(whole)+len(part), blob.Size, err)
		}
		size = blob.Size
		whole = append(slices.Grow(whole, max(0, int(size)-len(whole))), part...)
	}
	values := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	values.Append(whole)
	field := arrow.Field{Name: column, Type: arrow.BinaryTypes.LargeBinary, Nullable: true}
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{values.NewArray()}, 1), nil
}

// rowIDs returns the ids of rows.
func rowIDs(rows arrow.RecordBatch) ([]uint64, error) {
	for i, column := range rows.Columns() {
		if ids, ok := column.(*array.Uint64); ok && rows.ColumnName(i) == rowIDColumn {
			return ids.Uint64Values(), nil
		}
	}
	return nil, fmt.Errorf("%w: the rows have no ids, by which their blobs are requested", client.ErrAnswer)
}

// A blobStream is the values of a column of blobs, of which a part has been read.
type blobStream struct {
	next   func() (arrow.RecordBatch, error, bool)
	values arrow.Array
}

// read reads values if there are none left.
func (s *blobStream) read() error {
	for s.values == nil || s.values.Len() == 0 {
		batch, err, ok := s.next()
		switch {
		case err != nil:
			return err
		case !ok:
			return errors.New("the server returned fewer than it was asked for")
		case batch.NumCols() != 1 || batch.Column(0).DataType().ID() != arrow.LARGE_BINARY:
			return fmt.Errorf("%w: the server returned %v", client.ErrAnswer, batch.Schema())
		}
		s.values = batch.Column(0)
	}
	return nil
}

// take returns the next values.
func (s *blobStream) take(n int64) arrow.Array {
	taken := array.NewSlice(s.values, 0, n)
	s.values = array.NewSlice(s.values, n, int64(s.values.Len()))
	return taken
}

// checkForm refuses blobs in a file of a format without types: a table made from it would have texts instead.
func checkForm(schema *arrow.Schema, format rowfile.Format) error {
	at := slices.IndexFunc(schema.Fields(), isBlob)
	if at < 0 || format.IsTyped() {
		return nil
	}
	return &advice{
		protocol.Errorf(protocol.Unsupported, "column %s has blobs, which a file of %s cannot hold", schema.Field(at).Name, format),
		"parquet and arrow can",
	}
}
