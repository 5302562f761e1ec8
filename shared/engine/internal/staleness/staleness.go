// Package staleness records from which files of its input columns the values of a computed column
// were computed, and compares them with the present files. LanceDB has two forms of this record,
// and this package reads and writes both:
//
//   - keys in the metadata of the field: see [Stamp];
//   - a sidecar object _computed/<SHA-256>.sig, to which a key refers, with [Signatures] by fragment.
//     Sidecars of branches are in the folder of the table.
//
// A signature is a hash of file names, so no data is read for it. Deletions do not change it,
// because the remaining rows keep their values.
//
// Source: lancedb 0.40, table/freshness.rs and table/computed_columns.rs.
package staleness

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
	"math"
	"slices"
	"strconv"
	"strings"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// Keys of the metadata of a computed field.
const (
	SignatureKey  = "computed_refresh.source_signature"
	definitionKey = "computed_refresh.definition_version"
	recordedKey   = "computed_refresh.recorded_at_version"
)

// Signatures are hashes of the input files by fragment id.
type Signatures map[uint32]uint64

// The sidecar begins with its magic bytes and the number of entries. Each entry is the id of a
// fragment and its signature. Numbers are little endian.
const (
	magic      = "CSIG\x01"
	headSize   = len(magic) + 4
	entrySize  = 12
	folder     = "_computed"
	reference  = "sidecar:"
	entryCosts = 64 // memory of a map entry
)

// ErrMalformed means that a sidecar does not have the expected format.
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

// Decode reads a sidecar. The error is ErrMalformed, or a lack of memory.
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

// decodeInline reads signatures that are stored in the metadata itself.
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

// Definition returns the digest of an expression for the metadata.
func Definition(expression string) string { return fmt.Sprintf("%016x", short(expression)) }

// short returns the first 8 bytes of the SHA-256 of a text.
func short(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8])
}

// Inputs are the fields from which a column is computed: the fields in its expression, and all
// fields within them.
type Inputs struct {
	fields []input
	plain  bool // all names have the same form in LanceDB's signatures
}

// An input is a field among the inputs.
type input struct {
	path []string
	ids  []int32 // the field's own id, followed by its ancestors' from the inside out
}

// NewInputs returns the fields at paths. A path that is missing in the schema makes all fragments
// stale.
func NewInputs(s *schema.Schema, paths [][]string) Inputs {
	in := Inputs{plain: true}
	var collect func(f *schema.Field, path []string, around []int32)
	collect = func(f *schema.Field, path []string, around []int32) {
		in.plain = in.plain && isPlain(f.Name)
		ids := append([]int32{f.ID}, around...)
		in.fields = append(in.fields, input{path, ids})
		for _, child := range f.Children {
			collect(child, append(slices.Clip(path), child.Name), ids)
		}
	}
	for _, path := range paths {
		chain, err := s.Resolve(schema.FormatPath(path...))
		if err != nil {
			in.plain = false
			continue
		}
		var around []int32
		for i, f := range chain {
			// LanceDB writes the path of the expression, so a name in another form has an unknown signature.
			in.plain = in.plain && len(chain) == len(path) && f.Name == path[i]
			if i < len(chain)-1 {
				around = append([]int32{f.ID}, around...)
			}
		}
		collect(chain[len(chain)-1], path, around)
	}
	slices.SortFunc(in.fields, func(a, b input) int { return slices.Compare(a.path, b.path) })
	in.fields = slices.CompactFunc(in.fields, func(a, b input) bool { return slices.Equal(a.path, b.path) })
	return in
}

// Now returns the signatures of the fragments of a version. It leaves out fragments with file names
// that LanceDB would quote or escape, because its signature is then unknown.
func Now(d *dataset.Dataset, inputs Inputs) Signatures {
	s := Signatures{}
	if !inputs.plain {
		return s
	}
	places := placesOf(d)
	for _, f := range d.Fragments() {
		if hash, ok := inputs.signature(f.Meta, places); ok && f.Meta.ID <= math.MaxUint32 {
			s[uint32(f.Meta.ID)] = hash
		}
	}
	return s
}

// signature returns the signature of a fragment: a hash of LanceDB's debug output of a Rust struct
// with the files of each input.
func (in Inputs) signature(f *pb.Fragment, places map[uint64]string) (hash uint64, ok bool) {
	var text strings.Builder
	for i, field := range in.fields {
		if i > 0 {
			text.WriteByte('|')
		}
		text.WriteString(strings.Join(field.path, ".") + "=InputBasis { files: [")
		separator := ""
		for j := range f.Files {
			file := &f.Files[j]
			at := slices.IndexFunc(file.Fields, func(id int32) bool { return slices.Contains(field.ids, id) })
			if at < 0 {
				continue
			}
			// A file may lack the column index of a field; the signature then contains -1.
			column := int32(-1)
			if at < len(file.ColumnIndices) {
				column = file.ColumnIndices[at]
			}
			place, known := places[keyOf(file.BaseID)]
			if !known || !isPlain(file.Path) {
				return 0, false
			}
			fmt.Fprintf(&text, "%s(%q, %q, %d)", separator, place, file.Path, column)
			separator = ", "
		}
		text.WriteString("], overlays: [] }")
	}
	return short(text.String()), true
}

// keyOf returns the key of a base path in placesOf: 0 for the table's own location, or else 1 + its
// id.
func keyOf(base *uint32) uint64 {
	if base == nil {
		return 0
	}
	return uint64(*base) + 1
}

// placesOf returns the folders of data files by keyOf. It leaves out folders that LanceDB would
// quote or escape.
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

// isPlain reports whether a text stays the same in a URL and in a quoted Rust string.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/:._-$=@&+~", r)
	})
}

// sidecar returns the key of a table's sidecar. ok is false if digest is not a SHA-256.
func sidecar(table, digest string) (key string, ok bool) {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return "", false
	}
	return table + "/" + folder + "/" + digest + ".sig", true
}
