// Package bytedump writes bytes of the format next to their meaning, for tests. Each line has an
// offset, bytes in hexadecimal, and a description. Tests keep dumps as golden files: a format
// change shows as a change of bytes, and readers find an example of each part of the format.
package bytedump

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

var update = flag.Bool("update", false, "write the golden dumps again")

const (
	perLine = 12 // bytes of a line
	most    = 96 // bytes of a run that are shown
)

// A Dump is the text about some bytes. The methods that take bytes fail the test when too few are
// left.
type Dump struct {
	t     testing.TB
	text  strings.Builder
	data  []byte
	at    int // of data
	first int // the offset that is shown for data[0]
}

// New returns an empty dump.
func New(t testing.TB) *Dump { return &Dump{t: t} }

// Title begins a section about data. Offsets start at first.
func (d *Dump) Title(data []byte, first int, format string, args ...any) {
	d.End()
	if d.text.Len() > 0 {
		d.text.WriteByte('\n')
	}
	d.data, d.at, d.first = data, 0, first
	fmt.Fprintf(&d.text, format+"\n", args...)
}

// End fails the test unless the dump has the meaning of all bytes of the part.
func (d *Dump) End() {
	d.t.Helper()
	if d.at != len(d.data) {
		d.t.Fatalf("the dump ends at byte %d of %d:\n%s", d.at, len(d.data), d.text.String())
	}
}

// Left returns the number of bytes without a description.
func (d *Dump) Left() int { return len(d.data) - d.at }

// Text adds a line without bytes.
func (d *Dump) Text(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

// Bytes writes the next n bytes and their meaning, and returns them.
func (d *Dump) Bytes(n int, format string, args ...any) []byte {
	d.t.Helper()
	if n < 0 || n > d.Left() {
		d.t.Fatalf("%d bytes for %s, but %d are left:\n%s", n, fmt.Sprintf(format, args...), d.Left(), d.text.String())
	}
	run := d.data[d.at : d.at+n]
	meaning := fmt.Sprintf(format, args...)
	for from := 0; from < n; from += perLine {
		if from >= most {
			d.line(d.first+d.at+from, "…", fmt.Sprintf("%d bytes more", n-from))
			break
		}
		d.line(d.first+d.at+from, fmt.Sprintf("% x", run[from:min(from+perLine, n)]), meaning)
		meaning = ""
	}
	d.at += n
	return run
}

func (d *Dump) line(at int, bytes, meaning string) {
	line := fmt.Sprintf("  %06x  %-*s  %s", at, 3*perLine-1, bytes, meaning)
	d.text.WriteString(strings.TrimRight(line, " ") + "\n")
}

// Number writes a little-endian number of some bytes after its description and returns it.
func (d *Dump) Number(bytes int, format string, args ...any) uint64 {
	d.t.Helper()
	var wide [8]byte
	if bytes <= d.Left() {
		copy(wide[:], d.data[d.at:d.at+bytes])
	}
	value := binary.LittleEndian.Uint64(wide[:])
	d.Bytes(bytes, "u%d %s: %d", 8*bytes, fmt.Sprintf(format, args...), value)
	return value
}

// Message writes the next n bytes, a protobuf message decoded as m: a pointer to a struct of
// package pb, or an interface that holds one. Fields are named as in the struct; a oneof is named
// by its member.
func (d *Dump) Message(n int, m any) {
	d.t.Helper()
	v := reflect.ValueOf(m)
	d.message(n, 0, v, v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Interface)
}

// message writes the fields of a message. A oneof is a message around its member.
func (d *Dump) message(n, depth int, v reflect.Value, isOneof bool) {
	d.t.Helper()
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	end := d.at + n
	seen := map[protowire.Number]int{}
	for d.at < end {
		num, typ, tag := protowire.ConsumeTag(d.data[d.at:end])
		if tag < 0 {
			d.t.Fatalf("no field at byte %d:\n%s", d.at, d.text.String())
		}
		size := protowire.ConsumeFieldValue(num, typ, d.data[d.at+tag:end])
		if size < 0 {
			d.t.Fatalf("field %d at byte %d is cut off:\n%s", num, d.at, d.text.String())
		}
		name, field := fieldOf(v, num)
		if isOneof {
			name, field = strings.TrimPrefix(v.Type().String(), "pb."), v
		}
		index := seen[num]
		seen[num]++
		d.field(tag, size, depth, typ, name, index, field)
	}
}

// fieldOf returns the name and the value of a field by its number.
func fieldOf(v reflect.Value, num protowire.Number) (string, reflect.Value) {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("pb"), ",")
			if tag == fmt.Sprint(num) {
				return v.Type().Field(i).Name, v.Field(i)
			}
		}
	}
	return fmt.Sprintf("field %d", num), reflect.Value{}
}

// field writes one protobuf field: its tag of tag bytes, then size bytes. Embedded messages
// continue one level deeper, and packed numbers stay on one line.
func (d *Dump) field(tag, size, depth int, typ protowire.Type, name string, index int, v reflect.Value) {
	d.t.Helper()
	indent := strings.Repeat("  ", depth)
	if typ != protowire.BytesType {
		d.Bytes(tag+size, "%s%s = %s", indent, name, scalar(typ, d.data[d.at+tag:d.at+tag+size], v))
		return
	}
	content, _ := protowire.ConsumeBytes(d.data[d.at+tag:])
	head := tag + size - len(content)
	if v.IsValid() && v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 {
		if elem := v.Type().Elem(); elem.Kind() < reflect.Array && elem.Kind() != reflect.Invalid { // packed numbers
			d.Bytes(head+len(content), "%s%s = %v", indent, name, short(v))
			return
		}
		if index < v.Len() {
			name, v = fmt.Sprintf("%s[%d]", name, index), v.Index(index)
		}
	}
	inner := v
	for inner.IsValid() && (inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Interface) && !inner.IsNil() {
		inner = inner.Elem()
	}
	switch {
	case inner.IsValid() && inner.Kind() == reflect.Struct:
		d.Bytes(head, "%s%s: %d bytes", indent, name, len(content))
		d.message(len(content), depth+1, inner, v.Kind() == reflect.Interface)
	case inner.IsValid() && inner.Kind() == reflect.String:
		d.Bytes(head+len(content), "%s%s = %q", indent, name, content)
	case inner.IsValid() && inner.Kind() == reflect.Map:
		d.Bytes(head, "%s%s: an entry of %d bytes", indent, name, len(content))
		d.message(len(content), depth+1, reflect.Value{}, false)
	case !inner.IsValid() && isText(content):
		d.Bytes(head+len(content), "%s%s = %q", indent, name, content)
	default:
		d.Bytes(head+len(content), "%s%s: %d bytes", indent, name, len(content))
	}
}

// short formats the first few numbers of a list.
func short(v reflect.Value) string {
	text := fmt.Sprint(v.Interface())
	if len(text) > 60 {
		return text[:60] + "…"
	}
	return text
}

func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(b) > 0
}

// scalar prints a number as the field of the struct has it.
func scalar(typ protowire.Type, b []byte, v reflect.Value) string {
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.IsValid() && v.Kind() != reflect.Slice {
		return fmt.Sprint(v.Interface())
	}
	switch typ {
	case protowire.Fixed64Type:
		return fmt.Sprint(binary.LittleEndian.Uint64(b))
	case protowire.Fixed32Type:
		return fmt.Sprint(binary.LittleEndian.Uint32(b))
	}
	n, _ := protowire.ConsumeVarint(b)
	return fmt.Sprint(n)
}

// Compare ends the dump and compares it with a golden file. The flag -update writes the file.
func (d *Dump) Compare(path string) {
	d.t.Helper()
	d.End()
	got := d.text.String()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // the mode of other folders in the tree
			d.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // the mode of other files in the tree
			d.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		d.t.Errorf("%s (-golden +got), renewed with -update:\n%s", path, diff)
	}
}
