// Package pagetest gives tests the pages of data files that native Lance wrote.
package pagetest

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A Page is a page of a file that native Lance wrote.
type Page struct {
	File    string // the base name of the file
	Path    repdef.Path
	Page    pb.Page
	Buffers [][]byte
}

// Info returns the description of the page that readers take.
func (p *Page) Info() encoding.PageInfo {
	info := encoding.PageInfo{Rows: int(p.Page.Length)}
	for _, b := range p.Buffers {
		info.Sizes = append(info.Sizes, len(b))
	}
	return info
}

// Fetch is an [encoding.Fetch] of the page.
func (p *Page) Fetch(buffer, from, to int) []byte {
	return append([]byte{}, p.Buffers[buffer][from:to]...)
}

// Native returns the first page of each column in the data files of package datafile's tests whose
// names match a pattern. folder is that of package datafile.
func Native(t testing.TB, folder string, patterns ...string) []Page {
	t.Helper()
	var pages []Page
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(folder, "testdata", "matrix", pattern+".lance"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, columnPages(t, filepath.Base(name), data)...)
		}
	}
	return pages
}

// columnPages parses a data file without package datafile, which imports the packages under test.
func columnPages(t testing.TB, file string, data []byte) []Page {
	t.Helper()
	footer := data[len(data)-40:]
	columns, globals := binary.LittleEndian.Uint64(footer[8:]), binary.LittleEndian.Uint64(footer[16:])
	entry := func(table uint64, i int) []byte {
		at := data[table+16*uint64(i):]
		from := binary.LittleEndian.Uint64(at)
		return data[from : from+binary.LittleEndian.Uint64(at[8:])]
	}
	var d pb.FileDescriptor
	if err := d.Unmarshal(entry(globals, 0)); err != nil {
		t.Fatal(err)
	}
	s, err := schema.FromFields(d.Fields, d.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	s = s.Described()
	var paths []repdef.Path
	for _, f := range s.Fields {
		paths = appendPaths(paths, f, nil, binary.LittleEndian.Uint16(footer[32:]) == 0)
	}
	var pages []Page
	for i, path := range paths {
		var m pb.ColumnMetadata
		if err := m.Unmarshal(entry(columns, i)); err != nil {
			t.Fatal(err)
		}
		p := Page{File: file, Path: path, Page: m.Pages[0]}
		for k, from := range p.Page.BufferOffsets {
			p.Buffers = append(p.Buffers, data[from:from+p.Page.BufferSizes[k]])
		}
		pages = append(pages, p)
	}
	return pages
}

// appendPaths appends the paths of the columns of a field: of its leaves, or, in version
// 2.0, of all fields.
func appendPaths(paths []repdef.Path, f *schema.Field, above []repdef.Step, everyField bool) []repdef.Path {
	if everyField || f.IsLeaf() {
		paths = append(paths, repdef.Path{Steps: above, Leaf: repdef.Leaf{Type: f.Type, Name: f.Name, Nullable: f.Nullable}})
	}
	if f.IsLeaf() {
		return paths
	}
	step := repdef.Step{Kind: repdef.ListStep, Name: f.Name, Nullable: f.Nullable}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		step.Kind = repdef.StructStep
	case *arrow.FixedSizeListType:
		step.Kind, step.Size = repdef.FixedListStep, int(t.Len())
	}
	for i, child := range f.Children {
		step.Child, step.Member = i, child.Name
		paths = appendPaths(paths, child, append(above[:len(above):len(above)], step), everyField)
	}
	return paths
}

// Smallest returns the page with the fewest bytes in its buffers that has a form, nil if none has.
func Smallest(pages []Page, has func(p *Page) bool) *Page {
	var smallest *Page
	least := 0
	for i := range pages {
		p, size := &pages[i], 0
		for _, b := range p.Buffers {
			size += len(b)
		}
		if (smallest == nil || size < least) && has(p) {
			smallest, least = p, size
		}
	}
	return smallest
}

// CollectNames notes the names of all encodings in v, a decoded layout or encoding.
func CollectNames(names map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		CollectNames(names, v.Elem())
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		names[v.Elem().Type().Name()] = true
		CollectNames(names, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			CollectNames(names, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			CollectNames(names, v.Index(i))
		}
	}
}
