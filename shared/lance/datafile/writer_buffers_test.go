package datafile

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// A file keeps the global buffers and the metadata that it is given between its rows.
func TestGlobalBuffersAndMetadata(t *testing.T) {
	for _, v := range []lance.Version{lance.V2_0, lance.V2_1, lance.V2_2} {
		columns := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
		s, err := schema.FromArrow(columns)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, s, v)
		if err != nil {
			t.Fatal(err)
		}
		want := [][]byte{[]byte("first"), bytes.Repeat([]byte{7}, 1000), {}}
		for i, b := range want {
			if number, err := w.AddBuffer(b); err != nil || number != i+1 {
				t.Fatalf("%v: buffer %d has number %d, %v", v, i+1, number, err)
			}
		}
		s.Metadata = map[string]string{"key": "value"}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.AddBuffer(nil); err == nil {
			t.Errorf("%v: a closed file took a buffer", v)
		}
		f, err := openBytes(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range want {
			got, err := f.GlobalBuffer(t.Context(), i+1)
			if err != nil || !bytes.Equal(got, b) {
				t.Errorf("%v: buffer %d is %d bytes, %v; want %d", v, i+1, len(got), err, len(b))
			}
		}
		read, err := f.Schema(t.Context())
		if err != nil || read.Metadata["key"] != "value" {
			t.Errorf("%v: metadata are %v, %v", v, read.Metadata, err)
		}
	}
}
