package version

import (
	"testing"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestStagedManifestsAreOfTheTable(t *testing.T) {
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "s3://bucket/some/root", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	table := &catalog.Table{ID: []string{"t"}, Location: roots.Join("t.lance")}
	const (
		place = "some/root/t.lance"
		final = "18446744073709551613.manifest"
	)
	for _, test := range []struct{ branch, path, want string }{
		{"", place + "/_versions/" + final + "-7f3a", "t.lance/_versions/" + final + "-7f3a"},
		{"main", place + "/_versions/2.manifest-7f3a", "t.lance/_versions/2.manifest-7f3a"},
		{"dev/one", place + "/tree/dev/one/_versions/" + final + "-x", "t.lance/tree/dev/one/_versions/" + final + "-x"},
		{"", place + "/tree/dev/_versions/" + final + "-x", ""},
		{"dev", place + "/_versions/" + final + "-x", ""},
		{"..", place + "/_versions/" + final + "-x", ""},
		{"", place + "/_versions/" + final, ""}, // a version
		{"", place + "/_versions/7.manifest", ""},
		{"", "/" + place + "/_versions/x", "t.lance/_versions/x"},
		{"", "s3://bucket/" + place + "/_versions/x", "t.lance/_versions/x"},
		{"", "S3://bucket/some/root/t%2Elance/_versions/x", "t.lance/_versions/x"},
		{"", "t.lance/_versions/x", "t.lance/_versions/x"},
		{"", "_versions/x", "t.lance/_versions/x"},
		{"dev", "tree/dev/_versions/x", "t.lance/tree/dev/_versions/x"},
		{"", "s3://other/" + place + "/_versions/x", ""},
		{"", "gs://bucket/" + place + "/_versions/x", ""},
		{"", "file:///" + place + "/_versions/x", ""},
		{"", "s3://u:p@bucket/" + place + "/_versions/x", ""},
		{"", "s3://bucket/" + place + "/_versions/x?X-Amz-Signature=1", ""},
		{"", "s3://bucket/" + place + "/_versions/%2e%2e/_versions/x", ""},
		{"", "s3://bucket/" + place + "/_versions%2Fx", ""},
		{"", "/" + place + "/../t.lance/_versions/x", ""},
		{"", "../t.lance/_versions/x", ""},
		{"", "t.lance2/_versions/x", ""},
		{"", "some/root/t.lance2/_versions/x", ""},
		{"", "some/root/_catalog/$/t/t", ""},
		{"", place + "/_versions/../../../x", ""},
		{"", place + "/_versions//x", ""},
		{"", place + "/_versions/", ""},
		{"", place + "/data/x", ""},
		{"", place + "/_versions/a/x", ""},
		{"", "", ""},
	} {
		at, err := branchPlace(table, test.branch)
		got := ""
		if err == nil {
			got, err = stagedKey(table, at, test.path)
		}
		if got != test.want {
			t.Errorf("branch %q, %q: got %q (%v), want %q", test.branch, test.path, got, err, test.want)
		}
		if test.want == "" && (err == nil || protocol.CodeOf(err) != protocol.InvalidInput) {
			t.Errorf("branch %q, %q: got %v, want InvalidInput", test.branch, test.path, err)
		}
	}
}

// A table on a directory is also named by absolute paths and file URIs.
func TestStagedManifestsOnADirectory(t *testing.T) {
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "file:///data/my%20root", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	table := &catalog.Table{ID: []string{"t"}, Location: roots.Join("t.lance")}
	for _, test := range []struct{ path, want string }{
		{"/data/my root/t.lance/_versions/x", "t.lance/_versions/x"},
		{"data/my root/t.lance/_versions/x", "t.lance/_versions/x"},
		{"file:///data/my%20root/t.lance/_versions/x", "t.lance/_versions/x"},
		{"FILE:/data/my%20root/t.lance/_versions/x", "t.lance/_versions/x"},
		{"t.lance/_versions/x", "t.lance/_versions/x"},
		{"_versions/x", "t.lance/_versions/x"},
		{"file://host/data/my%20root/t.lance/_versions/x", ""},
		{"/data/my root/t.lance/_versions/../_versions/x", ""},
		{"/etc/t.lance/_versions/x", ""},
		{"/_versions/x", ""},
		{"/t.lance/_versions/x", ""},
		{"s3://data/my%20root/t.lance/_versions/x", ""},
	} {
		got, err := stagedKey(table, table.Location, test.path)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q: got %q (%v), want %q", test.path, got, err, test.want)
		}
	}
}
