package command

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"

	"tiltyard/shared/process/float16"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// maxVectorFile bounds a file with a vector, in bytes.
const maxVectorFile = 16 << 20

// parseVector returns the vector of a flag: a JSON array, the content of the file after @, or that of standard input for -.
func parseVector(cmd *cobra.Command, name, text string) (vector queryapi.Vector, err error) {
	content := []byte(text)
	if path, ok := strings.CutPrefix(text, "@"); ok || text == "-" {
		if content, err = readVectorFile(cmd, path); err != nil {
			return vector, usagef("%s: %w", name, err)
		}
		name += " " + text
	}
	if bytes.HasPrefix(content, []byte(npyMagic)) {
		numbers, err := parseNPY(content)
		if err != nil {
			return vector, usagef("%s: %w", name, err)
		}
		return queryapi.Vector{Vectors: [][]float64{numbers}}, nil
	}
	if err := json.Unmarshal(content, &vector); err != nil {
		return vector, usagef("%s must be a JSON array of numbers; @FILE reads one, or a .npy file, and - reads standard input: %w", name, err)
	}
	return vector, nil
}

// readVectorFile reads a file, or standard input for the path "-".
func readVectorFile(cmd *cobra.Command, path string) ([]byte, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, maxVectorFile+1))
	if err == nil && len(content) > maxVectorFile {
		err = fmt.Errorf("%s has more than %d bytes, too many for a vector", path, maxVectorFile)
	}
	return content, err
}

// A .npy file of one dimension, little-endian:
//
//	 0  [6]  "\x93NUMPY"
//	 6  u8   major version: 1, 2 or 3
//	 7  u8   minor version
//	 8  u16  length of the header; u32 from version 2 on
//	10  ...  header, such as {'descr': '<f4', 'fortran_order': False, 'shape': (3,), }
//	         items: float32 or float64
//
// Source: numpy.org, "NPY format".
const npyMagic = "\x93NUMPY"

var (
	npyType  = regexp.MustCompile(`'descr':\s*'([^']*)'`)
	npyShape = regexp.MustCompile(`'shape':\s*\(([^)]*)\)`)
)

// parseNPY returns the numbers of a .npy file of one dimension, of float32 or float64.
func parseNPY(content []byte) ([]float64, error) {
	if len(content) < 12 {
		return nil, fmt.Errorf("the .npy file ends in its header")
	}
	length, from := int(binary.LittleEndian.Uint16(content[8:])), 10
	switch content[6] {
	case 1:
	case 2, 3:
		length, from = int(binary.LittleEndian.Uint32(content[8:])), 12
	default:
		return nil, fmt.Errorf("the .npy file has version %d; 1 to 3 are known", content[6])
	}
	if length > len(content)-from {
		return nil, fmt.Errorf("the .npy file ends in its header")
	}
	header, items := content[from:from+length], content[from+length:]
	typ, shape := npyType.FindSubmatch(header), npyShape.FindSubmatch(header)
	if typ == nil || shape == nil {
		return nil, fmt.Errorf("the header of the .npy file lacks descr or shape")
	}
	count, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(string(shape[1])), ","))
	if err != nil || count < 1 {
		return nil, fmt.Errorf("the array has the shape (%s); a vector has one dimension, such as (768,)", shape[1])
	}
	width := map[string]int{"<f4": 4, "<f8": 8}[string(typ[1])]
	if width == 0 {
		return nil, fmt.Errorf("the array has items of type %q; save it as float32 or float64, little-endian", typ[1])
	}
	if len(items)/width != count || len(items)%width != 0 {
		return nil, fmt.Errorf("the array has %d bytes, but its shape has %d items of %d bytes", len(items), count, width)
	}
	numbers := make([]float64, count)
	for i := range numbers {
		if width == 4 {
			numbers[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(items[4*i:])))
		} else {
			numbers[i] = math.Float64frombits(binary.LittleEndian.Uint64(items[8*i:]))
		}
	}
	return numbers, nil
}

// vectorLike sets the vector of a request to that of the row that --like selects, if it is given.
func (q *question) vectorLike(r *run, req *queryapi.Request) error {
	if q.like == "" {
		return nil
	}
	if q.vector != "" {
		return usagef("--vector and --like exclude each other")
	}
	find := &queryapi.Request{Common: req.Common, Version: req.Version, Branch: req.Branch, Filter: q.like, K: new(int64(2))}
	if q.column != "" {
		find.Columns = []queryapi.ProjectedColumn{{Name: q.column}}
	}
	rows, err := r.client.QueryTable(r.ctx, find)
	if err != nil {
		return fmt.Errorf("--like: %w", err)
	}
	defer rows.Close()
	column, err := vectorColumn(rows.Schema())
	if err != nil {
		return err
	}
	found := 0
	for batch, err := range rows.Batches() {
		if err != nil {
			return fmt.Errorf("--like: %w", err)
		}
		if found += int(batch.NumRows()); found > 1 {
			return usagef("--like %s selects several rows; it must select one", q.like)
		}
		if batch.NumRows() == 1 {
			if req.Vector, err = vectorOf(batch.Column(column).(*array.FixedSizeList)); err != nil {
				return fmt.Errorf("--like %s: %s: %w", q.like, rows.Schema().Field(column).Name, err)
			}
		}
	}
	if found == 0 {
		return protocol.Errorf(protocol.InvalidInput, "--like %s selects no row", q.like)
	}
	return nil
}

// vectorColumn returns the index of the only column of vectors.
func vectorColumn(schema *arrow.Schema) (int, error) {
	found := -1
	for i, field := range schema.Fields() {
		if list, ok := field.Type.(*arrow.FixedSizeListType); ok && isVectorItem(list.Elem().ID()) {
			if found >= 0 {
				return 0, usagef("the table has several columns of vectors, such as %s and %s; --vector-column chooses one", schema.Field(found).Name, field.Name)
			}
			found = i
		}
	}
	if found < 0 {
		return 0, usagef("--like needs a column of vectors of float16, float32, float64 or uint8")
	}
	return found, nil
}

func isVectorItem(id arrow.Type) bool { return arrow.IsFloating(id) || id == arrow.UINT8 }

// vectorOf returns the first vector of a column.
func vectorOf(column *array.FixedSizeList) (vector queryapi.Vector, err error) {
	if column.IsNull(0) {
		return vector, fmt.Errorf("the vector is null")
	}
	from, end := column.ValueOffsets(0)
	numbers := make([]float64, 0, end-from)
	for i := int(from); i < int(end); i++ {
		switch values := column.ListValues().(type) {
		case *array.Float16:
			numbers = append(numbers, float64(float16.Widen(values.Value(i).Uint16())))
		case *array.Float32:
			numbers = append(numbers, float64(values.Value(i)))
		case *array.Float64:
			numbers = append(numbers, values.Value(i))
		case *array.Uint8:
			numbers = append(numbers, float64(values.Value(i)))
		}
	}
	return queryapi.Vector{Vectors: [][]float64{numbers}}, nil
}
