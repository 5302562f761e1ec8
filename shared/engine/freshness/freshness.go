// Package freshness knows which values of a computed column were computed from the files that its input
// columns have now. LanceDB keeps that in two places, and this package reads and writes both:
//
//   - keys in the metadata of the field: see [Stamp];
//   - a sidecar object _computed/<SHA-256>.sig, to which a key refers: a [Signatures] for each fragment.
//
// A signature is of the names of files, so nothing of the data is read for it. Deletions leave it as it is,
// because the rows that stay keep their values.
//
// Source: lancedb 0.40, table/freshness.rs and table/computed_columns.rs.
package freshness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
)

// Keys of the metadata of a computed field.
const (
	SignatureKey  = "computed_refresh.source_signature"
	definitionKey = "computed_refresh.definition_version"
	recordedKey   = "computed_refresh.recorded_at_version"
)

// Signatures are by the ids of fragments.
type Signatures map[uint32]uint64

// The sidecar begins with its name, its format and the number of entries, and each entry is the id of a
// fragment and its signature. Numbers are little endian.
const (
	magic      = "CSIG\x01"
	headSize   = len(magic) + 4
	entrySize  = 12
	folder     = "_computed"
	reference  = "sidecar:"
	entryCosts = 64 // bytes of memory of an entry of the map
)

// ErrMalformed means that a sidecar is not of the format.
var ErrMalformed = errors.New("malformed sidecar of signatures")

// Encode returns the sidecar.
func (s Signatures) Encode() []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(s)))
	for _, id := range slices.Sorted(maps.Keys(s)) {
		b = binary.LittleEndian.AppendUint32(b, id)
		b = binary.LittleEndian.AppendUint64(b, s[id])
	}
	return b
}

// Decode reads a sidecar. The error is ErrMalformed, or that of the memory account of the context.
func Decode(ctx context.Context, b []byte) (Signatures, error) {
	if len(b) < headSize || !bytes.HasPrefix(b, []byte(magic)) {
		return nil, ErrMalformed
	}
	n := int(binary.LittleEndian.Uint32(b[len(magic):]))
	if b = b[headSize:]; len(b)%entrySize != 0 || n != len(b)/entrySize {
		return nil, ErrMalformed
	}
	if _, err := memory.Take(ctx, int64(n)*entryCosts); err != nil {
		return nil, err
	}
	s := make(Signatures, n)
	for ; len(b) > 0; b = b[entrySize:] {
		s[binary.LittleEndian.Uint32(b)] = binary.LittleEndian.Uint64(b[4:])
	}
	return s, nil
}

// decodeInline reads the form that signatures have in the metadata itself.
func decodeInline(text string) (Signatures, error) {
	var inline map[uint32]string
	if err := json.Unmarshal([]byte(text), &inline); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	s := Signatures{}
	for id, hash := range inline {
		n, err := strconv.ParseUint(hash, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		s[id] = n
	}
	return s, nil
}

// Definition returns the digest of an expression that the metadata keeps.
func Definition(expression string) string { return fmt.Sprintf("%016x", short(expression)) }

// short returns the first 8 bytes of the SHA-256 of a text.
func short(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8])
}

// Now returns the signatures of the fragments of a version over input columns. It leaves out fragments
// for which it does not know what LanceDB would compute: with names of files that LanceDB escapes, and
// where members of structs may be the inputs.
func Now(d *dataset.Dataset, inputs []string) Signatures {
	fields, ok := fieldsOf(d.Schema(), inputs)
	if !ok {
		return nil
	}
	places := placesOf(d)
	s := Signatures{}
	for _, f := range d.Fragments() {
		var parts []string
		known := true
		for _, in := range fields {
			text := strings.Join(in.path, ".") + "=InputBasis { files: ["
			for i, n := 0, 0; i < len(f.Meta.Files); i++ {
				file := &f.Meta.Files[i]
				at := slices.IndexFunc(file.Fields, func(id int32) bool { return slices.Contains(in.ids, id) })
				if at < 0 {
					continue
				}
				place, ok := places[keyOf(file.BaseID)]
				known = known && ok && isPlain(file.Path)
				column := int32(-1)
				if at < len(file.ColumnIndices) {
					column = file.ColumnIndices[at]
				}
				if n++; n > 1 {
					text += ", "
				}
				text += fmt.Sprintf("(%q, %q, %d)", place, file.Path, column)
			}
			parts = append(parts, text+"], overlays: [] }")
		}
		if known && f.Meta.ID <= 1<<32-1 {
			s[uint32(f.Meta.ID)] = short(strings.Join(parts, "|"))
		}
	}
	return s
}

// An input is a field among those of the input columns.
type input struct {
	path []string
	ids  []int32 // its own, and those of the fields around it from the inside out
}

// fieldsOf returns the fields of input columns in the order of their paths. ok is false for structs.
func fieldsOf(s *schema.Schema, inputs []string) (fields []input, ok bool) {
	var collect func(f *schema.Field, path []string, around []int32)
	collect = func(f *schema.Field, path []string, around []int32) {
		ids := append([]int32{f.ID}, around...)
		fields = append(fields, input{path, ids})
		for _, child := range f.Children {
			collect(child, append(slices.Clip(path), child.Name), ids)
		}
	}
	for _, name := range inputs {
		f := s.Field(name)
		if f == nil || f.LogicalType == "struct" || !isPlain(name) {
			return nil, false
		}
		collect(f, []string{name}, nil)
	}
	slices.SortFunc(fields, func(a, b input) int { return slices.Compare(a.path, b.path) })
	return fields, true
}

// keyOf returns the key of a base path; 0 is the table's own place, and ids of base paths follow.
func keyOf(base *uint32) uint64 {
	if base == nil {
		return 0
	}
	return uint64(*base) + 1
}

// placesOf returns the folders of data files by keyOf, as far as LanceDB writes them as they are.
func placesOf(d *dataset.Dataset) map[uint64]string {
	places := map[uint64]string{}
	add := func(key uint64, uri string, root bool) {
		uri = strings.TrimRight(uri, "/")
		if strings.HasPrefix(uri, "/") {
			uri = "file://" + uri
		}
		if root {
			uri += "/data"
		}
		if isPlain(uri) {
			places[key] = uri
		}
	}
	add(0, d.Home().URI, true)
	for _, base := range d.Manifest().BasePaths {
		add(uint64(base.ID)+1, base.Path, base.IsDatasetRoot)
	}
	return places
}

// isPlain reports whether neither a URL nor a text in quotes has another form than the text itself.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/:._-$=@&+~", r)
	})
}

// sidecar returns the location of the sidecars of a table.
func sidecar(at objectstore.Location, digest string) (key string, ok bool) {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return "", false
	}
	return at.Prefix + "/" + folder + "/" + digest + ".sig", true
}
