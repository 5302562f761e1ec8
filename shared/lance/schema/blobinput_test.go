package schema

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
)

func TestMarkedBinariesBecomeBlobsOfVersion22(t *testing.T) {
	old := func(name string) arrow.Field {
		return marked(arrow.Field{Name: name, Type: arrow.BinaryTypes.LargeBinary, Nullable: true}, blobKey, "true")
	}
	plain := arrow.Field{Name: "plain", Type: arrow.BinaryTypes.LargeBinary, Nullable: true}
	s := arrow.NewSchema([]arrow.Field{
		old("top"), plain,
		{Name: "in_struct", Type: arrow.StructOf(old("x"), plain), Nullable: true},
		{Name: "in_list", Type: arrow.ListOfField(old("item")), Nullable: true},
	}, nil)
	made, err := FromArrow(WithBlobsV2(s))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for f := range made.All() {
		if f.IsBlob() {
			got[f.Name] = f.IsBlobV2() && f.Metadata[blobKey] == ""
		}
	}
	if d := cmp.Diff(map[string]bool{"top": true, "x": true, "item": true}, got); d != "" {
		t.Errorf("blobs of version 2.2 (-want +got):\n%s", d)
	}
	match, err := made.Match(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(match.Schema.Fields) != 4 {
		t.Errorf("%d columns match, want 4", len(match.Schema.Fields))
	}
	if _, err := made.Match(made.BlobValues()); err != nil {
		t.Errorf("values of the table do not fit it: %v", err)
	}
}

func TestMatchTakesBlobColumnsThatFit(t *testing.T) {
	data := arrow.Field{Name: "data", Type: arrow.BinaryTypes.LargeBinary, Nullable: true}
	uri := arrow.Field{Name: "uri", Type: arrow.BinaryTypes.String, Nullable: true}
	position := arrow.Field{Name: "position", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}
	size := arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}
	const inline, dedicated = "lance-encoding:blob-inline-size-threshold", "lance-encoding:blob-dedicated-size-threshold"
	blob := marked(arrow.Field{Name: "b", Type: arrow.StructOf(data, uri), Nullable: true}, extensionName, blobV2Extension, inline, "10")
	table, err := FromArrow(arrow.NewSchema([]arrow.Field{blob}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		field arrow.Field
		fits  bool
	}{
		"the same":             {blob, true},
		"with parts":           {arrow.Field{Name: "b", Type: arrow.StructOf(data, uri, position, size)}, true},
		"marked binary":        {marked(arrow.Field{Name: "b", Type: arrow.BinaryTypes.Binary}, blobKey, "true"), true},
		"marked large binary":  {marked(arrow.Field{Name: "b", Type: arrow.BinaryTypes.LargeBinary}, blobKey, "true"), true},
		"plain large binary":   {arrow.Field{Name: "b", Type: arrow.BinaryTypes.LargeBinary}, false},
		"marked text":          {marked(arrow.Field{Name: "b", Type: arrow.BinaryTypes.String}, blobKey, "true"), false},
		"no uri":               {arrow.Field{Name: "b", Type: arrow.StructOf(data)}, false},
		"a position alone":     {arrow.Field{Name: "b", Type: arrow.StructOf(data, uri, position)}, false},
		"the table's size":     {marked(arrow.Field{Name: "b", Type: arrow.StructOf(data, uri)}, inline, "10"), true},
		"the usual size":       {marked(arrow.Field{Name: "b", Type: arrow.StructOf(data, uri)}, dedicated, "4194304"), true},
		"another size":         {marked(arrow.Field{Name: "b", Type: arrow.StructOf(data, uri)}, inline, "20"), false},
		"an unusual size":      {marked(arrow.Field{Name: "b", Type: arrow.StructOf(data, uri)}, dedicated, "20"), false},
		"members out of order": {arrow.Field{Name: "b", Type: arrow.StructOf(uri, data)}, false},
	} {
		_, err := table.Match(arrow.NewSchema([]arrow.Field{c.field}, nil))
		if c.fits && err != nil || !c.fits && !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: got %v, want it to fit: %v", name, err, c.fits)
		}
	}
}
