// Package rowerror stores the reasons why functions failed for single rows of a table. A job writes one object for each
// fragment with such rows, or several if parts of a job compute its rows. The objects are beside the files of the table or
// of the branch that it fills:
//
//	_errors/<id of the job>/<id of the fragment>.arrow
//	_errors/<id of the job>/<id of the fragment>_<row>.arrow    from that row on
//
// An object is an Arrow stream, whose rows are [Row]s and whose schema metadata has the other fields of a [Unit]. A job
// that computes a fragment again replaces its object. Dropping the table or the branch deletes all objects, and a cleanup
// deletes those older than [Retention].
package rowerror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/multipart"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

const (
	// MaxRows bounds the recorded rows of a fragment. Further rows are only counted.
	MaxRows = 1000
	// MaxMessageBytes bounds the message of a row.
	MaxMessageBytes = 4 << 10
	// MaxTypeBytes bounds the type of a row's error.
	MaxTypeBytes = 256
	// Retention is the time for which the errors of a job are kept.
	Retention = 30 * 24 * time.Hour

	// Folder is the folder with the objects in a table or a branch.
	Folder = "_errors"
	suffix = ".arrow"
	// rowBytes bounds the memory of a row without its texts.
	rowBytes = 64
	// maxUnitBytes bounds the objects that are read.
	maxUnitBytes = MaxRows*(MaxMessageBytes+MaxTypeBytes+rowBytes) + 64<<10
)

// ErrMalformed means that an object does not have the expected format.
var ErrMalformed = errors.New("malformed record of row errors")

// A Unit contains the failures of one job in one fragment, or in some of its rows.
type Unit struct {
	Job             string
	Fragment        uint64
	From            int64 // the first row of the range that was computed together
	Column          string
	Function        string
	FunctionVersion string
	TableVersion    uint64 // the version that the job read
	At              time.Time
	Skipped         int64 // rows that failed
	Rows            []Row // the first MaxRows of them; a listing may return fewer
	Recorded        int   // rows in the object; set by Decode
}

// A Row is the failure of one row.
type Row struct {
	Offset  uint32 // of the row in its fragment
	Type    string
	Message string
}

// Add counts a failed row, and records it if there is room.
func (u *Unit) Add(r Row) {
	u.Skipped++
	if len(u.Rows) < MaxRows {
		u.Rows = append(u.Rows, Row{Offset: r.Offset, Type: cut(r.Type, MaxTypeBytes), Message: cut(r.Message, MaxMessageBytes)})
	}
}

// cut shortens a text to a number of bytes and makes it valid UTF-8.
func cut(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	if !utf8.ValidString(text) {
		return string(bytes.ToValidUTF8([]byte(text), []byte("?")))
	}
	return text
}

// Keys of the metadata of a schema.
const (
	jobKey, fragmentKey, columnKey        = "job_id", "fragment_id", "column"
	functionKey, functionVersionKey       = "function", "function_version"
	tableVersionKey, atKey, rowsFailedKey = "table_version", "created_at_millis", "rows_skipped"
)

var fields = []arrow.Field{
	{Name: "row_offset", Type: arrow.PrimitiveTypes.Uint32},
	{Name: "error_type", Type: arrow.BinaryTypes.String},
	{Name: "error_message", Type: arrow.BinaryTypes.String},
}

// Encode returns the object for a unit.
func (u *Unit) Encode() ([]byte, error) {
	metadata := arrow.MetadataFrom(map[string]string{
		jobKey: u.Job, fragmentKey: strconv.FormatUint(u.Fragment, 10), columnKey: u.Column,
		functionKey: u.Function, functionVersionKey: u.FunctionVersion, tableVersionKey: strconv.FormatUint(u.TableVersion, 10),
		atKey: strconv.FormatInt(u.At.UnixMilli(), 10), rowsFailedKey: strconv.FormatInt(u.Skipped, 10),
	})
	schema := arrow.NewSchema(fields, &metadata)
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
	for _, r := range u.Rows {
		b.Field(0).(*array.Uint32Builder).Append(r.Offset)
		b.Field(1).(*array.StringBuilder).Append(r.Type)
		b.Field(2).(*array.StringBuilder).Append(r.Message)
	}
	var out bytes.Buffer
	w := arrowipc.NewStreamWriter(&out, schema, arrowipc.ZSTD)
	if err := w.Write(b.NewRecordBatch()); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Decode reads the object of a unit. The error is ErrMalformed, or a lack of memory.
func Decode(ctx context.Context, object []byte) (*Unit, error) {
	r, err := arrowipc.NewReader(ctx, bytes.NewReader(object), arrowipc.Limits{
		MaxMessageBytes: maxUnitBytes, MaxDecodedBytes: maxUnitBytes, MaxMetadataBytes: maxUnitBytes, MaxColumns: len(fields), MaxDepth: 1,
	})
	if err != nil {
		return nil, malformed(err)
	}
	if !sameFields(r.Schema().Fields()) {
		return nil, fmt.Errorf("%w: its columns are %s", ErrMalformed, r.Schema())
	}
	u, err := unitOf(r.Schema().Metadata())
	if err != nil {
		return nil, err
	}
	for {
		batch, err := r.Next()
		// Without its end marker the stream is incomplete.
		if errors.Is(err, io.EOF) && r.Ended() {
			u.Recorded = len(u.Rows)
			return u, nil
		}
		if err != nil {
			return nil, malformed(err)
		}
		if err := u.read(ctx, batch); err != nil {
			return nil, err
		}
	}
}

// malformed wraps errors in the content of an object as ErrMalformed.
func malformed(err error) error {
	var bad *arrowipc.Error
	if errors.As(err, &bad) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return err
}

// sameFields reports whether an object has the columns that Encode writes.
func sameFields(got []arrow.Field) bool {
	if len(got) != len(fields) {
		return false
	}
	for i, f := range fields {
		if got[i].Name != f.Name || !arrow.TypeEqual(got[i].Type, f.Type) {
			return false
		}
	}
	return true
}

// unitOf reads the metadata of a schema.
func unitOf(metadata arrow.Metadata) (*Unit, error) {
	var failed error
	// The first missing or malformed value is the error of the whole.
	text := func(key string) string {
		value, ok := metadata.GetValue(key)
		if !ok && failed == nil {
			failed = fmt.Errorf("%w: without %s", ErrMalformed, key)
		}
		return value
	}
	number := func(key string) uint64 {
		n, err := strconv.ParseUint(text(key), 10, 63)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%w: %s: %w", ErrMalformed, key, err)
		}
		return n
	}
	u := &Unit{
		Job: text(jobKey), Fragment: number(fragmentKey), Column: text(columnKey),
		Function: text(functionKey), FunctionVersion: text(functionVersionKey), TableVersion: number(tableVersionKey),
		At: time.UnixMilli(int64(number(atKey))).UTC(), Skipped: int64(number(rowsFailedKey)),
	}
	return u, failed
}

// read appends the rows of a batch.
func (u *Unit) read(ctx context.Context, batch arrow.RecordBatch) error {
	rows := int(batch.NumRows())
	offsets, types, messages := batch.Column(0).(*array.Uint32), batch.Column(1).(*array.String), batch.Column(2).(*array.String)
	if len(u.Rows)+rows > MaxRows || int64(len(u.Rows)+rows) > u.Skipped {
		return fmt.Errorf("%w: more than %d rows of %d", ErrMalformed, MaxRows, u.Skipped)
	}
	if offsets.NullN()+types.NullN()+messages.NullN() > 0 {
		return fmt.Errorf("%w: nulls", ErrMalformed)
	}
	held := int64(rows) * rowBytes
	for i := range rows {
		held += int64(len(types.Value(i)) + len(messages.Value(i)))
	}
	if _, err := memory.Take(ctx, held); err != nil {
		return err
	}
	for i := range rows {
		u.Rows = append(u.Rows, Row{offsets.Value(i), string([]byte(types.Value(i))), string([]byte(messages.Value(i)))})
	}
	return nil
}

// An Area is the folder with the errors of a table or of a branch.
type Area struct {
	Store  objectstore.Store
	Prefix string // of the table or the branch, without a slash at the end
}

// Of returns the area of a table or a branch.
func Of(t *dataset.Table) Area {
	place := multipart.Parts(t)
	return Area{Store: place.Store, Prefix: place.Prefix}
}

// Put stores a unit. It replaces a unit with the same job, fragment and first row.
func (a Area) Put(ctx context.Context, u *Unit) error {
	object, err := u.Encode()
	if err != nil {
		return fmt.Errorf("encode row errors: %w", err)
	}
	key := a.ofFragment(u.Job, u.Fragment)
	if u.From > 0 {
		key += fmt.Sprintf("_%010d", u.From)
	}
	key += suffix
	if _, err := a.Store.Put(ctx, key, object, objectstore.Condition{}); err != nil {
		return fmt.Errorf("store row errors %s: %w", key, err)
	}
	return nil
}

// Forget deletes the units of a fragment that a job computes again.
func (a Area) Forget(ctx context.Context, job string, fragment uint64) error {
	for info, err := range objectstore.Objects(ctx, a.Store, objectstore.ListOptions{Prefix: a.ofFragment(job, fragment), Limit: listPage}) {
		if err == nil {
			err = a.Store.Delete(ctx, info.Key, objectstore.Condition{})
		}
		if err != nil && !errors.Is(err, objectstore.ErrNotExist) {
			return fmt.Errorf("delete row errors of fragment %d: %w", fragment, err)
		}
	}
	return nil
}

func (a Area) ofFragment(job string, id uint64) string {
	return fmt.Sprintf("%s%020d", a.ofJob(job), id)
}

func (a Area) ofJob(id string) string { return a.Prefix + "/" + Folder + "/" + id + "/" }
