package wordbreak

import "unicode/utf8"

// clusters finds the grapheme clusters of a run of characters of one script. It implements the rules GB9,
// GB9a and GB9c of UAX #29; the others do not apply within such scripts.
type clusters struct {
	table *table
	text  string
	end   int // of the last cluster
}

// next returns the end of the next cluster, or the length of the text at its end.
func (c *clusters) next() int {
	joins := false // a consonant would join the previous one
	var last role  // the last consonant or base
	for first := true; c.end < len(c.text); first = false {
		r, size := utf8.DecodeRuneInString(c.text[c.end:])
		switch role := c.table.of(r).role(); role {
		case clusterExtend:
		case spacingMark:
			last, joins = base, false
		case linker:
			joins = last == consonant
		default:
			if !first && (role != consonant || !joins) {
				return c.end
			}
			last, joins = role, false
		}
		c.end += size
	}
	return c.end
}
