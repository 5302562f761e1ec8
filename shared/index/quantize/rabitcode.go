package quantize

// The codes of RQ have for each dimension a sign bit and, with more than one bit, a magnitude. Both are
// sums of weights to a query: each bit that is set adds the number that the query has in its dimension,
// times the value of the bit. So bytes of codes are measured by tables of what each value of a byte adds.

// packedRows is how many rows of a partition have their sign bits in one group. In a group, 32 bytes
// follow each other for each byte of a code, each with four bits of two rows:
//
//	 0  [16]  bits 0 to 3 of rows signRows[i] in the low half, of rows signRows[i]+16 in the high half
//	16  [16]  bits 4 to 7 likewise
//
// The rows after the last whole group have byte 0 of all of them, then byte 1.
const packedRows = 32

// signRows is the order of rows in a group of sign bits.
//
// Source: simd/dist_table.rs of crate lance-linalg, PERM0.
var signRows = [packedRows / 2]int{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}

// unpackSigns returns the sign bits of a partition row by row. width is the bytes of a row.
func unpackSigns(packed []byte, rows, width int) []byte {
	signs := make([]byte, len(packed))
	grouped := rows / packedRows * packedRows
	for first := 0; first < grouped; first += packedRows {
		for b := range width {
			lanes := packed[first*width+b*packedRows:][:packedRows]
			for i, row := range signRows {
				low, high := lanes[i], lanes[i+packedRows/2]
				signs[(first+row)*width+b] = low&15 | high<<4
				signs[(first+row+packedRows/2)*width+b] = low>>4 | high&0xf0
			}
		}
	}
	rest := rows - grouped
	for row := range rest {
		for b := range width {
			signs[(grouped+row)*width+b] = packed[grouped*width+b*rest+row]
		}
	}
	return signs
}

// packSigns is the opposite of unpackSigns.
func packSigns(signs []byte, rows, width int) []byte {
	packed := make([]byte, len(signs))
	grouped := rows / packedRows * packedRows
	for first := 0; first < grouped; first += packedRows {
		for b := range width {
			lanes := packed[first*width+b*packedRows:][:packedRows]
			for i, row := range signRows {
				low, high := signs[(first+row)*width+b], signs[(first+row+packedRows/2)*width+b]
				lanes[i], lanes[i+packedRows/2] = low&15|high<<4, low>>4|high&0xf0
			}
		}
	}
	rest := rows - grouped
	for row := range rest {
		for b := range width {
			packed[grouped*width+b*rest+row] = signs[(grouped+row)*width+b]
		}
	}
	return packed
}

// blockDims is how many dimensions have their magnitudes in one block, of 8 bytes for each bit.
const blockDims = 64

// magnitudeBytes is the length of the magnitudes of a row with so many bits each.
func magnitudeBytes(dim, bits int) int { return (dim + blockDims - 1) / blockDims * 8 * bits }

// magnitudeBit returns where a bit of a magnitude is: its byte in the code of a row, and the bit there.
// A block has dimensions in four groups of 16, i being the number of a dimension in its group:
//
//	1 bit    as bits 0 to 63
//	2 bits   byte i has those of all groups, group 0 lowest
//	3 bits   as 2 bits, and bit 2 in a plane of 8 bytes
//	4 bits   byte 8*group + i%8: dimensions 0 to 7 of the group in the low half, 8 to 15 in the high half
//	5 bits   byte 16*(group/2) + i: even groups in the low half, odd ones in the high half; bit 4 in a plane
//	6 bits   byte 16*group + i for groups 0 to 2; of group 3 the bits are the highest two of bytes i, 16+i and 32+i
//	7 bits   as 6 bits, and bit 6 in a plane
//	8 bits   a byte for each dimension
//
// A plane has the bit of group g and dimension i at bit 2*g + i/8 of byte i%8.
//
// Source: vector/bq/ex_dot.rs of crate lance-index.
func magnitudeBit(bits, dim, bit int) (at, shift int) {
	block := dim / blockDims * 8 * bits
	dim %= blockDims
	group, i := dim/16, dim%16
	plane := func(before int) (int, int) { return block + before + i%8, 2*group + i/8 }
	switch bits {
	case 1:
		return block + dim/8, dim % 8
	case 3:
		if bit == 2 {
			return plane(16)
		}
		fallthrough
	case 2:
		return block + i, 2*group + bit
	case 4:
		return block + 8*group + i%8, i/8*4 + bit
	case 5:
		if bit == 4 {
			return plane(32)
		}
		return block + group/2*16 + i, group%2*4 + bit
	case 7:
		if bit == 6 {
			return plane(48)
		}
		fallthrough
	case 6:
		if group == 3 {
			return block + bit/2*16 + i, 6 + bit%2
		}
		return block + 16*group + i, bit
	}
	return block + dim, bit
}

// A byteTable has what each value of a byte adds to a sum.
type byteTable [256]float32

// newByteTable returns the table of a byte whose bits add these weights.
func newByteTable(weights [8]float32) (t byteTable) {
	for bit, w := range weights {
		for i := range 1 << bit {
			t[1<<bit+i] = t[i] + w
		}
	}
	return t
}

// signTables returns the tables of sign bits, with which those that are set are summed up.
func signTables(query []float32) []byteTable {
	tables := make([]byteTable, len(query)/8)
	for i := range tables {
		tables[i] = newByteTable([8]float32(query[8*i:]))
	}
	return tables
}

// magnitudeTables returns the tables of magnitudes with so many bits.
func magnitudeTables(query []float32, bits int) []byteTable {
	weights := make([][8]float32, magnitudeBytes(len(query), bits))
	for dim, x := range query {
		for bit := range bits {
			at, shift := magnitudeBit(bits, dim, bit)
			weights[at][shift] = x * float32(int(1)<<bit)
		}
	}
	tables := make([]byteTable, len(weights))
	for i, w := range weights {
		tables[i] = newByteTable(w)
	}
	return tables
}

// cachedTables is how many tables are used together, so that they stay in the core's own cache.
const cachedTables = 32

// addSums adds to each of out what the bytes of its row add. Rows at +Inf are left out.
func addSums(tables []byteTable, codes []byte, out []float32) {
	width := len(tables)
	for from := 0; from < width; from += cachedTables {
		some := tables[from:min(from+cachedTables, width)]
		for row, sum := range out {
			if !(sum < noLimit) {
				continue
			}
			code, even, odd := codes[row*width+from:][:len(some)], float32(0), float32(0)
			i := 0
			for ; i+2 <= len(code); i += 2 {
				even += some[i][code[i]]
				odd += some[i+1][code[i+1]]
			}
			if i < len(code) {
				even += some[i][code[i]]
			}
			out[row] = sum + even + odd
		}
	}
}
