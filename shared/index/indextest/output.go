package indextest

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore/memstore"
)

// An Output takes the files of a segment that a test builds.
type Output struct {
	Folder
	t testing.TB
}

// NewOutput returns an empty segment.
func NewOutput(t testing.TB) Output { return Output{Folder{Store: memstore.New(), Prefix: "x"}, t} }

// Create implements index.Output.
func (o Output) Create(_ context.Context, name string, columns *arrow.Schema) (index.FileWriter, error) {
	s, err := schema.FromArrow(columns)
	if err != nil {
		return nil, err
	}
	f := &file{output: o, name: name, schema: s}
	f.writer, err = datafile.NewWriter(&f.data, s, lance.V2_2)
	return f, err
}

type file struct {
	output Output
	name   string
	schema *schema.Schema
	data   bytes.Buffer
	writer *datafile.Writer
}

func (f *file) Write(_ context.Context, rows arrow.RecordBatch) error { return f.writer.Write(rows) }

func (f *file) AddBuffer(b []byte) (int, error) { return f.writer.AddBuffer(b) }

func (f *file) SetMetadata(key, value string) { f.schema.Metadata[key] = value }

func (f *file) Close(context.Context) error {
	if _, err := f.writer.Close(); err != nil {
		return err
	}
	put(f.output.t, f.output.Store, f.output.Prefix+"/"+f.name, f.data.Bytes())
	return nil
}
