package encoding

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/lance/pb"
)

// TestTheTableOfEncodingsIsTrue compares the table in doc.go with the pages of native
// files, which other tests decode, and with what the encoders make.
func TestTheTableOfEncodingsIsTrue(t *testing.T) {
	have := map[string]bool{}
	for _, p := range nativePages(t) {
		var enc any
		var err error
		if p.page.Encoding.TypeURL == pb.TypePageLayout {
			enc, err = pb.UnmarshalLayout(p.page.Encoding.Value)
		} else {
			enc, err = pb.UnmarshalArrayEncoding(p.page.Encoding.Value)
		}
		if err != nil {
			t.Fatal(err)
		}
		collectNames(have, reflect.ValueOf(enc))
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

// collectNames notes the names of all encodings in v.
func collectNames(names map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		collectNames(names, v.Elem())
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		names[v.Elem().Type().Name()] = true
		collectNames(names, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			collectNames(names, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			collectNames(names, v.Index(i))
		}
	}
}

// encoderSources returns the text of the files that write.
func encoderSources(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*encode*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			all.Write(text)
		}
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
