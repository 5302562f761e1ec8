package encoding_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/lance/internal/encoding/pagetest"
	"tiltyard/shared/lance/pb"
)

// TestTableOfEncodingsIsTrue compares the table in doc.go with the pages of native files, which
// other tests decode, and with the encoders.
func TestTableOfEncodingsIsTrue(t *testing.T) {
	have := map[string]bool{}
	for _, p := range nativePages(t) {
		var enc any
		var err error
		if p.Page.Encoding.TypeURL == pb.TypePageLayout {
			enc, err = pb.UnmarshalLayout(p.Page.Encoding.Value)
		} else {
			enc, err = pb.UnmarshalArrayEncoding(p.Page.Encoding.Value)
		}
		if err != nil {
			t.Fatal(err)
		}
		pagetest.CollectNames(have, reflect.ValueOf(enc))
	}
	sources := encoderSources(t)
	seen := map[string]bool{}
	for _, row := range encodingTable(t) {
		name := row[0]
		seen[name] = true
		made := strings.Contains(sources, "pb."+name+"{")
		if number, isArray := arrayNumbers[name]; isArray {
			made = strings.Contains(sources, fmt.Sprintf("arrayMember(%d,", number))
		}
		if want := yesNo(made); row[2] != want {
			t.Errorf("%s: the table says that it is written: %s; want %s", name, row[2], want)
		}
		if want := yesNo(have[name]); row[3] != want {
			t.Errorf("%s: the table says that native files with it are read in tests: %s; want %s", name, row[3], want)
		}
	}
	for name := range have {
		if !seen[name] {
			t.Errorf("native files have %s and the table does not", name)
		}
	}
}

// arrayNumbers are the encodings of version 2.0, which are written by their numbers.
var arrayNumbers = map[string]int{
	"ArrayFlat": 1, "ArrayNullable": 2, "ArrayFixedSizeList": 3, "ArrayList": 4, "ArraySimpleStruct": 5, "ArrayBinary": 6,
	"ArrayDictionary": 7, "ArrayFSST": 8, "ArrayPackedStruct": 9, "ArrayFixedSizeBinary": 11,
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// encoders is the folder of the packages that encode pages.
const encoders = "../internal/encoding"

// encoderSources returns the source text of the encoders, including files that also decode.
func encoderSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(encoders, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// encodingTable returns the rows of the table in doc.go: name, read, written, fixture.
func encodingTable(t *testing.T) [][]string {
	t.Helper()
	f, err := os.Open("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	var rows [][]string
	for s := bufio.NewScanner(f); s.Scan(); {
		row := strings.Fields(strings.TrimPrefix(s.Text(), "//"))
		if len(row) >= 4 && slices.Contains([]string{"yes", "no"}, row[1]) {
			rows = append(rows, row)
		}
	}
	if len(rows) < 20 {
		t.Fatalf("got a table of %d rows", len(rows))
	}
	return rows
}
