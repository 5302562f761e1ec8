package write

import (
	"math"

	"tiltyard/shared/lance/internal/encoding/bitpack"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/column"
	"tiltyard/shared/lance/internal/encoding/compress"
	"tiltyard/shared/lance/internal/encoding/fsst"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// chooseChunkEncoder picks the codec that takes the fewest bytes for the values, within the limits
// of the field's metadata.
func (p *pageRows) chooseChunkEncoder() codec.ChunkEncoder {
	s := p.values.Shape
	encoder := p.plainEncoder()
	switch {
	case p.packer != nil || s.Dims != nil:
		return encoder
	case s.Kind == values.Variable:
		encoder = p.chooseTextEncoder()
	case s.Kind == values.Fixed && !p.Options.Compression.None:
		if c := p.chooseNumberEncoder(); c != nil {
			encoder = c
		}
	}
	if p.General != nil {
		return p.chooseCompressed(encoder)
	}
	return encoder
}

// chooseCompressed returns an encoder that compresses the chunks of encoder, or of a byte stream
// split encoder, whichever makes the first chunks smaller.
func (p *pageRows) chooseCompressed(encoder codec.ChunkEncoder) codec.ChunkEncoder {
	candidates := []codec.ChunkEncoder{encoder}
	if bits := p.values.Shape.Bits; bits == 32 || bits == 64 {
		switch split := codec.NewSplitEncoder(p.values.Fixed, bits/8); p.Options.Split {
		case "off":
		case "on":
			candidates[0] = split
		default:
			candidates = append(candidates, split)
		}
	}
	var best *codec.CompressedEncoder
	smallest := math.MaxInt
	for _, compressor := range p.General {
		for _, candidate := range candidates {
			c := codec.NewCompressedEncoder(candidate, encoder, compressor)
			if len(candidates)*len(p.General) == 1 {
				return c
			}
			if size := p.tryChunks(c); size < smallest {
				best, smallest = c, size
			}
		}
	}
	return best
}

// tryChunks returns the encoded size of the first values.
func (p *pageRows) tryChunks(encoder *codec.CompressedEncoder) int {
	size := 0
	for at := 0; at < min(p.values.N, codec.ChunkValues); {
		n, _ := encoder.Fit(at)
		n = min(n, p.values.N-at)
		var sizes [4]int
		size += len(encoder.Append(nil, at, at+n, sizes[:]))
		at += n
	}
	encoder.Forget()
	return size
}

// plainEncoder returns the encoder that stores values as they are.
func (p *pageRows) plainEncoder() codec.ChunkEncoder {
	if p.values.Shape.Kind == values.Variable {
		return p.variableEncoder(p.values)
	}
	if p.packer != nil {
		return codec.NewFlatEncoder(p.values, p.packer.Codec())
	}
	return codec.NewFlatEncoder(p.values, codec.FlatCodec(p.values, 1))
}

func (p *pageRows) variableEncoder(v *values.Values) codec.ChunkEncoder {
	return codec.NewVariableEncoder(v, int(p.offsetBits/8), p.Options.ChunkBytes)
}

// chooseTextEncoder picks the codec of variable values.
func (p *pageRows) chooseTextEncoder() codec.ChunkEncoder {
	if p.wantsSymbols() {
		if symbols := p.symbols(); symbols != nil {
			return codec.NewTextEncoder(symbols, p.variableEncoder(codec.CompressText(symbols, p.values)))
		}
	}
	return p.plainEncoder()
}

const (
	minText     = 16 << 10 // bytes of a page's texts that may make up for a symbol table
	minTextSize = 5        // bytes of the longest of them
	longText    = 32 << 10 // bytes of a text that is better compressed by itself
	minGeneral  = 32 << 10 // least bytes of a page's texts to compress
)

// wantsSymbols reports whether the encoder should try to compress the values by symbols. Binary
// values that are not text rarely gain by it.
func (p *pageRows) wantsSymbols() bool {
	if p.Options.Symbols {
		return true
	}
	c := p.Options.Compression
	return p.Text && !c.None && c.Scheme == 0 && len(p.values.Data) >= minText && p.values.Longest() >= minTextSize
}

// symbols returns the FSST encoder for the page's texts, or nil if the table would take more than
// it saves.
func (p *pageRows) symbols() *fsst.Encoder {
	if len(p.values.Data) <= fsst.TableBytes {
		return nil
	}
	if p.Trained.Values != p.values {
		p.Trained = column.Symbols{Values: p.values, Encoder: codec.TrainText(p.values)}
		if e := p.Trained.Encoder; e != nil && (1-e.Ratio)*float64(len(p.values.Data)) < fsst.TableBytes {
			p.Trained.Encoder = nil
		}
	}
	return p.Trained.Encoder
}

// chooseNumberEncoder picks a codec for integers and for other values of the same widths. Nil means
// that none saves enough.
func (p *pageRows) chooseNumberEncoder() codec.ChunkEncoder {
	v := p.values
	switch v.Shape.Bits {
	case 8:
		return smallestNumbers(p, values.ViewAs[uint8](v.Fixed))
	case 16:
		return smallestNumbers(p, values.ViewAs[uint16](v.Fixed))
	case 32:
		return smallestNumbers(p, values.ViewAs[uint32](v.Fixed))
	case 64:
		return smallestNumbers(p, values.ViewAs[uint64](v.Fixed))
	}
	return nil
}

// smallestNumbers picks a codec for the page's values as integers; nil means that plain values are
// best.
func smallestNumbers[T bitpack.Integer](p *pageRows, numbers []T) codec.ChunkEncoder {
	bits := p.values.Shape.Bits
	plain := len(numbers) * bits / 8
	packed := codec.PackedSize(numbers) * bits / 8
	best := plain
	if 16*packed <= 15*plain { // otherwise it is not worth unpacking for
		best = packed
	}
	var levels []uint16
	if len(numbers) >= minJoined {
		levels = p.valueLevels()
	}
	changes := countChanges(numbers, levels)
	mostRuns := p.Options.RunsPerValue
	if changes*(bits/8+1) < best && (mostRuns == 0 || float64(changes+1) < mostRuns*float64(len(numbers))) {
		if joined := joinRuns(numbers, levels); codec.RunBytes(joined, bits, best) < best {
			return codec.NewRunEncoder(joined, bits)
		}
	}
	if best < plain {
		return codec.NewPackedEncoder(numbers)
	}
	return nil
}

// chooseZipCodec returns the variable values in the form in which a full-zip page stores them, and
// their description.
func (p *pageRows) chooseZipCodec() (*values.Values, pb.Codec, error) {
	if p.packer != nil {
		return p.values, p.packer.Codec(), nil
	}
	plain := &pb.Variable{Offsets: &pb.Flat{BitsPerValue: p.offsetBits}}
	c := p.Options.Compression
	general := c.Scheme != 0 || !c.None && p.values.Longest() > longText
	switch {
	case general && len(p.values.Data) >= minGeneral:
		if p.PerValue == nil {
			if c.Scheme != pb.Zstd {
				c = compress.Compression{Scheme: pb.Zstd} // as in the native writer, whatever the metadata requests
			}
			var err error
			if p.PerValue, err = compress.NewCompressor(c); err != nil {
				return nil, nil, err
			}
		}
		packed, err := p.PerValue.CompressEach(p.values)
		if err != nil {
			return nil, nil, err
		}
		if len(packed.Data) < len(p.values.Data) {
			return packed, p.PerValue.Wrap(plain), nil
		}
	case p.wantsSymbols():
		if symbols := p.symbols(); symbols != nil {
			return codec.CompressText(symbols, p.values), codec.WrapText(symbols, plain), nil
		}
	}
	return p.values, plain, nil
}

// zips reports whether the values are stored in a full-zip page.
func (p *pageRows) zips() bool {
	longest := p.values.Longest()
	switch {
	case p.values.NoItems():
		return true // the only layout that leaves them out
	case p.Options.Layout == "fullzip":
		return true
	case p.Options.Layout == "miniblock":
		return longest > codec.ChunkBytes/2 // a chunk has two values at least
	}
	return longest >= zipBytes
}
