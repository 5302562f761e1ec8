package encoding

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// options are what a field's metadata asks of its column. The keys are those of the
// native writer, and so is what they mean; what cannot be read as a number is as if it
// were not there.
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
type options struct {
	compression compression
	symbols     bool    // compress texts by a symbol table, whatever they are
	split       string  // on, off; else decided by the values
	runs        float64 // 0: not said
	layout      string  // miniblock, fullzip; else decided by the values
	chunkBytes  int

	dictDivisor     int
	dictRatio       float64
	dictMaxBytes    int
	dictCompression compression
}

// A compression says how buffers are compressed in general.
type compression struct {
	scheme pb.CompressionScheme // 0: they are not
	level  int                  // 0: the default
	none   bool                 // it was asked that nothing be done
}

// Limits of the dictionaries that are made for columns of few distinct values; those of
// the native writer.
const (
	dictMinValues = 100
	dictMaxItems  = 100_000
	dictMaxBytes  = 8 << 20
	dictRatio     = 0.8
	dictDivisor   = 2
)

// parseOptions reads the metadata of a field.
func parseOptions(metadata map[string]string) (options, error) {
	o := options{
		chunkBytes:      chunkBytes,
		dictDivisor:     dictDivisor,
		dictRatio:       dictRatio,
		dictMaxBytes:    dictMaxBytes,
		dictCompression: compression{scheme: pb.LZ4},
	}
	m := optionValues(metadata)
	var err error
	if o.symbols = m["compression"] == "fsst"; !o.symbols {
		if o.compression, err = m.compression("compression", compression{}); err != nil {
			return o, err
		}
	}
	if o.dictCompression, err = m.compression("dict-values-compression", o.dictCompression); err != nil {
		return o, err
	}
	o.split = strings.ToLower(m["bss"])
	o.layout = strings.ToLower(m["structural-encoding"])
	o.runs = m.number("rle-threshold", 0)
	o.chunkBytes = min(int(m.number("minichunk-size", chunkBytes)), maxChunkBytes)
	o.dictDivisor = max(1, int(m.number("dict-divisor", dictDivisor)))
	o.dictMaxBytes = int(m.number("dict-max-size", dictMaxBytes))
	if o.dictRatio = m.number("dict-size-ratio", dictRatio); o.dictRatio <= 0 || o.dictRatio > 1 {
		return o, fmt.Errorf("%w: dict-size-ratio %v is not above 0 and at most 1", lance.ErrUnsupported, o.dictRatio)
	}
	return o, nil
}

// maxChunkBytes is the most that can be asked of a chunk. In version 2.1 it is
// chunkBytes, to keep chunks below 32 KiB with their levels.
const maxChunkBytes = 1 << 20

// metadataOptions are options by their names.
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

func (m metadataOptions) compression(name string, otherwise compression) (compression, error) {
	c := otherwise
	switch m[name] {
	case "zstd":
		c.scheme = pb.Zstd
	case "lz4":
		c.scheme = pb.LZ4
	case "none":
		c = compression{none: true}
	case "":
	default:
		return c, fmt.Errorf("%w: %s %q", lance.ErrUnsupported, name, m[name])
	}
	c.level = int(m.number(name+"-level", 0))
	return c, nil
}

// A storageChoice is how a column is to be stored, beside what its version asks, and
// what is kept from page to page for that.
type storageChoice struct {
	options  options
	text     bool          // the values are texts and not just bytes
	general  []*compressor // what the field asks for, to choose from, if anything
	perValue *compressor   // of long values; made when it is needed
	dictPack *compressor   // of dictionaries
	trained  trainedSymbols
}

func newStorageChoice(leaf Leaf, v lance.Version) (*storageChoice, error) {
	o, err := parseOptions(leaf.Metadata)
	if err != nil {
		return nil, err
	}
	if v == lance.V2_1 {
		o.chunkBytes = min(o.chunkBytes, chunkBytes)
	}
	c := &storageChoice{options: o}
	variable := false
	switch leaf.Type.ID() {
	case arrow.STRING, arrow.LARGE_STRING:
		c.text, variable = true, true
	case arrow.BINARY, arrow.LARGE_BINARY:
		variable = true
	}
	switch {
	case o.compression.scheme == 0:
	case variable:
		packer, err := newCompressor(o.compression)
		if err != nil {
			return nil, err
		}
		c.general = []*compressor{packer}
	default:
		if c.general, err = newNumberCompressors(o.compression); err != nil {
			return nil, err
		}
	}
	if o.dictCompression.scheme != 0 && v != lance.V2_1 {
		c.dictPack, err = newCompressor(o.dictCompression)
	}
	return c, err
}
