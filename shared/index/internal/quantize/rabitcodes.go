package quantize

// The RQ code of a dimension has a sign bit and, with more than one bit, a magnitude. The inner product
// with a query is a sum over the set bits: the value of the query in that dimension, times the weight of
// the bit. So byte tables, with one sum for each value of a byte, measure the codes.

// packedRows is the number of rows whose sign bits form one group. A group has 32 bytes for each byte of a
// code, each with four bits of two rows:
//
//	 0  [16]  bits 0 to 3 of rows signRows[i] in the low half, of rows signRows[i]+16 in the high half
//	16  [16]  bits 4 to 7 likewise
//
// The rows after the last full group store byte 0 of all rows, then byte 1, and so on.
const packedRows = 32

// signRows is the order of rows in a group of sign bits.
//
// Source: simd/dist_table.rs of crate lance-linalg, PERM0.
var signRows = [packedRows / 2]int{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}

// unpackSigns returns the sign bits of a partition transposed: the first bytes of all rows, then the second
// bytes, and so on. width is the bytes of a row.
func unpackSigns(packed []byte, rows, width int) []byte {
	signs := make([]byte, len(packed))
	grouped := rows / packedRows * packedRows
	for first := 0; first < grouped; first += packedRows {
		for b := range width {
			lanes, column := packed[first*width+b*packedRows:][:packedRows], signs[b*rows+first:][:packedRows]
			for i, row := range signRows {
				low, high := lanes[i], lanes[i+packedRows/2]
				column[row] = low&15 | high<<4
				column[row+packedRows/2] = low>>4 | high&0xf0
			}
		}
	}
	rest := rows - grouped
	for b := range width {
		copy(signs[b*rows+grouped:][:rest], packed[grouped*width+b*rest:])
	}
	return signs
}

// packSigns packs sign bits, row by row, into groups.
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

// blockDims is the number of dimensions whose magnitudes form one block, of 8 bytes per bit.
const blockDims = 64

// magnitudeBytes returns the length of the magnitudes of a row with the given bits per dimension.
func magnitudeBytes(dim, bits int) int { return (dim + blockDims - 1) / blockDims * 8 * bits }

// magnitudeBit returns the position of a bit of a magnitude: its byte in the code of a row, and the bit in
// that byte. A block has four groups of 16 dimensions; i is the number of a dimension in its group:
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

// A byteTable has the sum for each value of a byte.
type byteTable [256]float32

// newByteTable returns the table of a byte whose bits have these weights.
func newByteTable(weights [8]float32) (t byteTable) {
	for bit, w := range weights {
		for i := range 1 << bit {
			t[1<<bit+i] = t[i] + w
		}
	}
	return t
}

// byteTables are the tables of the bytes of a code, one after another.
type byteTables []float32

func newByteTables(n int) byteTables { return make(byteTables, n*len(byteTable{})) }

func (t byteTables) len() int            { return len(t) / len(byteTable{}) }
func (t byteTables) at(i int) *byteTable { return (*byteTable)(t[i*len(byteTable{}):]) }

// signTables returns the tables that sum up the query elements of set sign bits.
func signTables(query []float32) byteTables {
	tables := newByteTables(len(query) / 8)
	for i := range tables.len() {
		*tables.at(i) = newByteTable([8]float32(query[8*i:]))
	}
	return tables
}

// magnitudeTables returns the tables of magnitudes with the given number of bits.
func magnitudeTables(query []float32, bits int) byteTables {
	weights := make([][8]float32, magnitudeBytes(len(query), bits))
	for dim, x := range query {
		for bit := range bits {
			at, shift := magnitudeBit(bits, dim, bit)
			weights[at][shift] = x * float32(int(1)<<bit)
		}
	}
	tables := newByteTables(len(weights))
	for i, w := range weights {
		*tables.at(i) = newByteTable(w)
	}
	return tables
}

// summedTables is the number of tables whose sums are added up before they are added to those of others. A
// sum of floats depends on that order.
const summedTables = 32

// add returns sum plus the table sums of one row, whose bytes are stride apart.
func (t byteTables) add(code []byte, stride int, sum float32) float32 {
	for from, at := 0, 0; from < t.len(); from += summedTables {
		even, odd := float32(0), float32(0)
		i, to := from, min(from+summedTables, t.len())
		for ; i+2 <= to; i += 2 {
			even += t[i*256+int(code[at])]
			odd += t[(i+1)*256+int(code[at+stride])]
			at += 2 * stride
		}
		if i < to {
			even += t[i*256+int(code[at])]
		}
		sum = sum + even + odd
	}
	return sum
}

// addColumns adds the table sums of rows, whose bytes are stride apart, to out. They equal those of add to
// the last bit.
func (t byteTables) addColumns(codes []byte, stride int, out []float32) {
	const together = 256
	for first := 0; first < len(out); first += together {
		some := out[first:min(first+together, len(out))]
		for from := 0; from < t.len(); from += summedTables {
			var evens, odds [together]float32
			even, odd := evens[:len(some)], odds[:len(some)]
			i, to := from, min(from+summedTables, t.len())
			for ; i+2 <= to; i += 2 {
				table, next := t.at(i), t.at(i+1)
				column, after := codes[i*stride+first:][:len(some)], codes[(i+1)*stride+first:][:len(some)]
				for row, code := range column {
					even[row] += table[code]
					odd[row] += next[after[row]]
				}
			}
			if i < to {
				table := t.at(i)
				for row, code := range codes[i*stride+first:][:len(some)] {
					even[row] += table[code]
				}
			}
			for row, sum := range some {
				some[row] = sum + even[row] + odd[row]
			}
		}
	}
}
