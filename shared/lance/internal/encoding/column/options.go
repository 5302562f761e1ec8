// Package column holds the state of a column while its rows wait for a page, in all versions of the
// format: the storage options from the field's metadata ([Options], [Storage]), the items of its
// dictionary ([Dictionary]) and the rows of a packed struct ([Packer]). Packages write and
// version20 make pages of it. For example, a field with the metadata lance-encoding:compression =
// zstd has Options with that scheme, and its pages try chunks that are compressed by it.
package column

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/fsst"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// Options are the choices that a field's metadata makes for its column. Keys and meanings are those
// of the native writer; a value that cannot be parsed as a number counts as absent.
//
//	lance-encoding:compression                   zstd, lz4, fsst, none
//	lance-encoding:compression-level             of zstd
//	lance-encoding:bss                           split values by their bytes before
//	                                             compressing: on, off, auto
//	lance-encoding:rle-threshold                 most runs per value
//	lance-encoding:structural-encoding           miniblock, fullzip
//	lance-encoding:minichunk-size                most bytes of a chunk of texts
//	lance-encoding:dict-divisor                  least values per item of a dictionary
//	lance-encoding:dict-size-ratio               most that a dictionary may take, of the plain size
//	lance-encoding:dict-max-size                 most bytes of its texts
//	lance-encoding:dict-values-compression       zstd, lz4, none
//	lance-encoding:dict-values-compression-level
type Options struct {
	Compression  compress.Compression
	Symbols      bool    // compress texts by a symbol table, whatever they are
	Split        string  // on, off; else decided by the values
	RunsPerValue float64 // 0: not said
	Layout       string  // miniblock, fullzip; else decided by the values
	ChunkBytes   int     // most of a chunk of texts

	DictDivisor     int     // least values per item of a dictionary
	DictRatio       float64 // most that a dictionary may take, of the plain size
	DictMaxBytes    int     // most bytes of its texts
	dictCompression compress.Compression
}

// Limits of the dictionaries for columns with few distinct values; they are the native writer's.
const (
	DictMinValues = 100
	DictMaxItems  = 100_000
	DictMaxBytes  = 8 << 20
	dictRatio     = 0.8
	dictDivisor   = 2
)

// parseOptions reads the metadata of a field.
func parseOptions(metadata map[string]string) (Options, error) {
	o := Options{
		ChunkBytes:      codec.ChunkBytes,
		DictDivisor:     dictDivisor,
		DictRatio:       dictRatio,
		DictMaxBytes:    DictMaxBytes,
		dictCompression: compress.Compression{Scheme: pb.LZ4},
	}
	m := optionValues(metadata)
	var err error
	if o.Symbols = m["compression"] == "fsst"; !o.Symbols {
		if o.Compression, err = m.compression("compression", compress.Compression{}); err != nil {
			return o, err
		}
	}
	if o.dictCompression, err = m.compression("dict-values-compression", o.dictCompression); err != nil {
		return o, err
	}
	o.Split = strings.ToLower(m["bss"])
	o.Layout = strings.ToLower(m["structural-encoding"])
	o.RunsPerValue = m.number("rle-threshold", 0)
	o.ChunkBytes = min(int(m.number("minichunk-size", codec.ChunkBytes)), maxChunkBytes)
	o.DictDivisor = max(1, int(m.number("dict-divisor", dictDivisor)))
	o.DictMaxBytes = int(m.number("dict-max-size", DictMaxBytes))
	if o.DictRatio = m.number("dict-size-ratio", dictRatio); o.DictRatio <= 0 || o.DictRatio > 1 {
		return o, fmt.Errorf("%w: dict-size-ratio %v is not above 0 and at most 1", lance.ErrUnsupported, o.DictRatio)
	}
	return o, nil
}

// maxChunkBytes bounds the chunk size that a field may request. In version 2.1 the bound is
// codec.ChunkBytes, which keeps a chunk with its levels below 32 KiB.
const maxChunkBytes = 1 << 20

// metadataOptions are the values of a field's metadata, by key without its prefix.
type metadataOptions map[string]string

func optionValues(metadata map[string]string) metadataOptions {
	m := metadataOptions{}
	for key, value := range metadata {
		if name, ok := strings.CutPrefix(key, "lance-encoding:"); ok {
			m[name] = value
		}
	}
	return m
}

func (m metadataOptions) number(name string, otherwise float64) float64 {
	if f, err := strconv.ParseFloat(m[name], 64); err == nil && f >= 0 && f <= 1<<40 {
		return f
	}
	return otherwise
}

// compression parses a scheme and its level. An empty value keeps the default.
func (m metadataOptions) compression(name string, otherwise compress.Compression) (compress.Compression, error) {
	c := otherwise
	switch m[name] {
	case "zstd":
		c.Scheme = pb.Zstd
	case "lz4":
		c.Scheme = pb.LZ4
	case "none":
		c = compress.Compression{None: true}
	case "":
	default:
		return c, fmt.Errorf("%w: %s %q", lance.ErrUnsupported, name, m[name])
	}
	c.Level = int(m.number(name+"-level", 0))
	return c, nil
}

// A Storage holds a column's choices of encoding, and the state that they need from page to page.
type Storage struct {
	Options              Options
	Text                 bool                   // the values are texts and not just bytes
	General              []*compress.Compressor // compressors requested by the field, to choose from
	PerValue             *compress.Compressor   // of long values; made when it is needed
	DictionaryCompressor *compress.Compressor   // of dictionaries
	Trained              Symbols                // of the page that is being made
}

// NewStorage returns the storage of a leaf in files of a version.
func NewStorage(leaf repdef.Leaf, v lance.Version) (*Storage, error) {
	o, err := parseOptions(leaf.Metadata)
	if err != nil {
		return nil, err
	}
	if v == lance.V2_1 {
		o.ChunkBytes = min(o.ChunkBytes, codec.ChunkBytes)
	}
	c := &Storage{Options: o}
	variable := false
	switch leaf.Type.ID() {
	case arrow.STRING, arrow.LARGE_STRING:
		c.Text, variable = true, true
	case arrow.BINARY, arrow.LARGE_BINARY:
		variable = true
	}
	switch {
	case o.Compression.Scheme == 0:
	case variable:
		packer, err := compress.NewCompressor(o.Compression)
		if err != nil {
			return nil, err
		}
		c.General = []*compress.Compressor{packer}
	default:
		if c.General, err = compress.NewNumberCompressors(o.Compression); err != nil {
			return nil, err
		}
	}
	if o.dictCompression.Scheme != 0 && v != lance.V2_1 {
		c.DictionaryCompressor, err = compress.NewCompressor(o.dictCompression)
	}
	return c, err
}

// Symbols are an FSST encoder and the values that it was trained on.
type Symbols struct {
	Values  *values.Values
	Encoder *fsst.Encoder
}
