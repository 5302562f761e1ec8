package encoding

import (
	"math"

	"tiltyard/shared/lance/encoding/bitpack"
	"tiltyard/shared/lance/encoding/fsst"
	"tiltyard/shared/lance/pb"
)

// chooseChunkEncoder picks the codec that takes the least room for the values, within
// what the field's metadata allows.
func (p *pageRows) chooseChunkEncoder() chunkEncoder {
	s := p.values.shape
	encoder := p.plainEncoder()
	switch {
	case p.packer != nil || s.dims != nil:
		return encoder
	case s.kind == shapeVariable:
		encoder = p.chooseTextEncoder()
	case s.kind == shapeFixed && !p.options.compression.none:
		if c := p.chooseNumberEncoder(); c != nil {
			encoder = c
		}
	}
	if p.general != nil {
		return p.chooseCompressed(encoder)
	}
	return encoder
}

// chooseCompressed returns the encoder with its chunks compressed, or one that splits
// numbers by their bytes if those compress better.
func (p *pageRows) chooseCompressed(encoder chunkEncoder) chunkEncoder {
	candidates := []chunkEncoder{encoder}
	if bits := p.values.shape.bits; bits == 32 || bits == 64 {
		switch split := (&splitEncoder{p.values.fixed, bits / 8}); p.options.split {
		case "off":
		case "on":
			candidates[0] = split
		default:
			candidates = append(candidates, split)
		}
	}
	var best *compressedEncoder
	smallest := math.MaxInt
	for _, compressor := range p.general {
		for _, candidate := range candidates {
			c := &compressedEncoder{chunkEncoder: candidate, otherwise: encoder, compressor: compressor}
			if len(candidates)*len(p.general) == 1 {
				return c
			}
			if size := p.tryChunks(c); size < smallest {
				best, smallest = c, size
			}
		}
	}
	return best
}

// tryChunks returns how much the first values take.
func (p *pageRows) tryChunks(encoder *compressedEncoder) int {
	size := 0
	for at := 0; at < min(p.values.n, chunkValues); {
		n, _ := encoder.fit(at)
		n = min(n, p.values.n-at)
		var sizes [4]int
		size += len(encoder.append(nil, at, at+n, sizes[:]))
		at += n
	}
	encoder.plain, encoder.packed = 0, 0
	return size
}

// plainEncoder is for values as they are.
func (p *pageRows) plainEncoder() chunkEncoder {
	if p.values.shape.kind == shapeVariable {
		return p.variableEncoder(p.values)
	}
	if p.packer != nil {
		return &flatEncoder{values: p.values, pb: p.packer.codec()}
	}
	return &flatEncoder{values: p.values, pb: p.values.flatCodec(1)}
}

func (p *pageRows) variableEncoder(v *values) *variableEncoder {
	return &variableEncoder{values: v, width: int(p.offsetBits / 8), most: p.options.chunkBytes}
}

// chooseTextEncoder picks the codec of variable values.
func (p *pageRows) chooseTextEncoder() chunkEncoder {
	if p.wantsSymbols() {
		if symbols := p.symbols(); symbols != nil {
			return &textChunkEncoder{p.variableEncoder(compressText(symbols, p.values)), symbols}
		}
	}
	return p.plainEncoder()
}

const (
	minText     = 16 << 10 // bytes of a page's texts that may make up for a symbol table
	minTextSize = 5        // bytes of the longest of them
	longText    = 32 << 10 // bytes of a text that is better compressed by itself
	minGeneral  = 32 << 10 // bytes of a page's texts that are worth to be compressed so
)

// wantsSymbols reports whether it is worth a try to compress the values by symbols.
// Bytes that are no text hardly have any.
func (p *pageRows) wantsSymbols() bool {
	if p.options.symbols {
		return true
	}
	c := p.options.compression
	return p.text && !c.none && c.scheme == 0 && len(p.values.data) >= minText && p.values.longest() >= minTextSize
}

// textChunkEncoder are texts compressed by symbols, and then laid out like others.
type textChunkEncoder struct {
	*variableEncoder
	symbols *fsst.Encoder
}

func (c *textChunkEncoder) codec() pb.Codec { return wrapText(c.symbols, c.variableEncoder.codec()) }

// symbols returns the encoder for the page's texts, nil when it would not help.
func (p *pageRows) symbols() *fsst.Encoder {
	if len(p.values.data) <= fsst.TableBytes {
		return nil
	}
	if p.trained.values != p.values {
		p.trained = trainedSymbols{p.values, trainText(p.values)}
		if e := p.trained.encoder; e != nil && (1-e.Ratio)*float64(len(p.values.data)) < fsst.TableBytes {
			p.trained.encoder = nil
		}
	}
	return p.trained.encoder
}

// trainedSymbols remember which values an encoder was made for.
type trainedSymbols struct {
	values  *values
	encoder *fsst.Encoder
}

// chooseNumberEncoder picks a codec for integers and what has their width, or nil.
func (p *pageRows) chooseNumberEncoder() chunkEncoder {
	v := p.values
	switch v.shape.bits {
	case 8:
		return smallestNumbers(p, viewAs[uint8](v.fixed))
	case 16:
		return smallestNumbers(p, viewAs[uint16](v.fixed))
	case 32:
		return smallestNumbers(p, viewAs[uint32](v.fixed))
	case 64:
		return smallestNumbers(p, viewAs[uint64](v.fixed))
	}
	return nil
}

// smallestNumbers picks a codec for the page's values, which are integers; nil when they
// are best left as they are.
func smallestNumbers[T bitpack.Integer](p *pageRows, values []T) chunkEncoder {
	bits := p.values.shape.bits
	plain := len(values) * bits / 8
	packed := packedSize(values) * bits / 8
	best := plain
	if 16*packed <= 15*plain { // otherwise it is not worth unpacking for
		best = packed
	}
	var levels []uint16
	if len(values) >= minJoined {
		levels = p.valueLevels()
	}
	changes := countChanges(values, levels)
	mostRuns := p.options.runs
	if changes*(bits/8+1) < best && (mostRuns == 0 || float64(changes+1) < mostRuns*float64(len(values))) {
		if joined := joinRuns(values, levels); runBytes(joined, bits, best) < best {
			return &runEncoder[T]{joined, bits}
		}
	}
	if best < plain {
		return &packedEncoder[T]{values}
	}
	return nil
}

// chooseZipCodec returns the variable values as a full-zip page stores them, and how
// they are compressed.
func (p *pageRows) chooseZipCodec() (*values, pb.Codec, error) {
	if p.packer != nil {
		return p.values, p.packer.codec(), nil
	}
	plain := &pb.Variable{Offsets: &pb.Flat{BitsPerValue: p.offsetBits}}
	c := p.options.compression
	general := c.scheme != 0 || !c.none && p.values.longest() > longText
	switch {
	case general && len(p.values.data) >= minGeneral:
		if p.perValue == nil {
			if c.scheme != pb.Zstd {
				c = compression{scheme: pb.Zstd} // as the native writer does, whatever was asked
			}
			var err error
			if p.perValue, err = newCompressor(c); err != nil {
				return nil, nil, err
			}
		}
		packed, err := p.perValue.compressEach(p.values)
		if err != nil {
			return nil, nil, err
		}
		if len(packed.data) < len(p.values.data) {
			return packed, p.perValue.wrap(plain), nil
		}
	case p.wantsSymbols():
		if symbols := p.symbols(); symbols != nil {
			return compressText(symbols, p.values), wrapText(symbols, plain), nil
		}
	}
	return p.values, plain, nil
}

// zips reports whether the values go to a full-zip page.
func (p *pageRows) zips() bool {
	longest := p.values.longest()
	switch {
	case p.values.noItems():
		return true // the only layout that leaves them out
	case p.options.layout == "fullzip":
		return true
	case p.options.layout == "miniblock":
		return longest > chunkBytes/2 // a chunk has two values at least
	}
	return longest >= zipBytes
}
