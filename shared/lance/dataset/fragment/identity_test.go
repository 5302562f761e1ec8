package fragment

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

var version = &manifest.Manifest{Location: manifest.Location{Key: "t/_versions/7.manifest", ETag: "e"}}

func TestFilesWithoutRandomNamesAreKeptByTheirManifest(t *testing.T) {
	random := strings.Repeat("01", 12) + strings.Repeat("af", 13)
	cases := []struct {
		name, file string
		random     bool
	}{
		{"a UUID", uuid.NewString() + ".lance", true},
		{"digits as writers make them", random + ".lance", true},
		{"in a folder", "data/" + random + ".lance", true},
		{"a word", "rows.lance", false},
		{"a binary digit above 1", strings.Replace(random, "0", "2", 1) + ".lance", false},
		{"one digit too few", random[1:] + ".lance", false},
		{"a letter that is no digit", strings.Replace(random, "a", "g", 1) + ".lance", false},
	}
	for _, x := range cases {
		if got := fileNamed(version, x.file) == ""; got != x.random {
			t.Errorf("%s: random is %t, want %t", x.name, got, x.random)
		}
	}
}

func TestDeletionFilesAreKeptByAllThatReadingThemDependsOn(t *testing.T) {
	file := pb.DeletionFile{ID: 1 << 40, DeletedRows: 3}
	part := deletionPart("key", version, 10, &file)
	more, old := file, file
	more.DeletedRows++
	old.ID = 12
	again := *version
	again.Location.ETag = "f"
	if part == deletionPart("key", version, 11, &file) || part == deletionPart("key", version, 10, &more) {
		t.Error("a key does not hold the numbers of rows")
	}
	if part != deletionPart("key", &again, 10, &file) {
		t.Error("a file with a random id is not found by another manifest")
	}
	if deletionPart("key", version, 10, &old) == deletionPart("key", &again, 10, &old) {
		t.Error("a file without a random id is found by another manifest")
	}
}
