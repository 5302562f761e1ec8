package fm

import (
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"

	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// maxDepth bounds the depth of a tree: codes of bytes have 32 bits.
const maxDepth = 32

// A tree is a Huffman-shaped wavelet tree over the Burrows-Wheeler transform of a text: the bytes before
// each suffix, in the order of the suffix array. Each node covers a set of byte values, and has one bit for
// each occurrence of these values in the transform: 1 if the right child covers the byte. Nodes are
// numbered in preorder.
type tree struct {
	nodes  []node
	codes  [256][]step // path from the root to each byte value; empty for absent values
	before [257]int    // number of text bytes less than each value
}

// node is a node of the wavelet tree. Bit i tells whether the i-th byte that reaches the node belongs to
// child 0 or child 1.
type node struct {
	bits     bitVector
	children [2]child
}

// A child is the number of a node, or the complement of a byte value.
type child int32

func (c child) leaf() (byte, bool) { return byte(^c), c < 0 }

// A step descends from a node to one of its children.
type step struct {
	node int
	bit  int
}

// walk visits a child with a known path from the root, and sets the codes of the leaves below it. A node or
// leaf that occurs twice is corrupt.
func (t *tree) walk(c child, way []step, seen map[child]bool) error {
	if seen[c] || len(way) > maxDepth || int(c) >= len(t.nodes) || c < -256 {
		return fmt.Errorf("%w: a tree of %d nodes with the child %d in depth %d", lance.ErrCorrupt, len(t.nodes), c, len(way))
	}
	seen[c] = true
	if b, ok := c.leaf(); ok {
		t.codes[b] = append([]step(nil), way...)
		return nil
	}
	for bit, next := range t.nodes[c].children {
		if err := t.walk(next, append(way, step{int(c), bit}), seen); err != nil {
			return err
		}
	}
	return nil
}

// The kinds of children in a file.
const kindNode, kindLeaf = 0, 1

// childBytes is the size of a child in a file.
const childBytes = 5

// parseShape reads the shape of a tree, without bits:
//
//	u32  number of nodes, and for each the left and the right child
//	    u8   0: a node, 1: a leaf
//	    u32  its number, or its byte value
func parseShape(b []byte) (*tree, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("%w: a tree of %d bytes", lance.ErrCorrupt, len(b))
	}
	n, b := binary.LittleEndian.Uint32(b), b[4:]
	if n > 255 || len(b) != int(n)*2*childBytes {
		return nil, fmt.Errorf("%w: a tree of %d nodes in %d bytes", lance.ErrCorrupt, n, len(b))
	}
	t := &tree{nodes: make([]node, n)}
	for i := range t.nodes {
		for bit := range t.nodes[i].children {
			kind, number := b[0], binary.LittleEndian.Uint32(b[1:])
			b = b[childBytes:]
			if kind > kindLeaf || number > 255 {
				return nil, fmt.Errorf("%w: a child of kind %d with the number %d", lance.ErrCorrupt, kind, number)
			}
			if t.nodes[i].children[bit] = child(number); kind == kindLeaf {
				t.nodes[i].children[bit] = ^child(number)
			}
		}
	}
	if n == 0 {
		return t, nil
	}
	seen := map[child]bool{}
	if err := t.walk(0, nil, seen); err != nil {
		return nil, err
	}
	if leaves := len(t.nodes) + 1; len(seen) != len(t.nodes)+leaves {
		return nil, fmt.Errorf("%w: a tree with nodes that are not in it", lance.ErrCorrupt)
	}
	return t, nil
}

// shape encodes the shape of a tree.
func (t *tree) shape() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(t.nodes)))
	for _, n := range t.nodes {
		for _, c := range n.children {
			if value, ok := c.leaf(); ok {
				b = binary.LittleEndian.AppendUint32(append(b, kindLeaf), uint32(value))
			} else {
				b = binary.LittleEndian.AppendUint32(append(b, kindNode), uint32(c))
			}
		}
	}
	return b
}

// encodedCodes encodes the codes of all byte values:
//
//	u32  the bits, the last step in the lowest
//	u8   the number of bits
//	u16  the number of nodes on the path, and for each
//	    u32  its number
func (t *tree) encodedCodes() []byte {
	var b []byte
	for _, code := range t.codes {
		bits := uint32(0)
		for _, s := range code {
			bits = bits<<1 | uint32(s.bit)
		}
		b = append(binary.LittleEndian.AppendUint32(b, bits), byte(len(code)))
		b = binary.LittleEndian.AppendUint16(b, uint16(len(code)))
		for _, s := range code {
			b = binary.LittleEndian.AppendUint32(b, uint32(s.node))
		}
	}
	return b
}

// finish prepares a tree for rank queries, once all of its bits are set. size is the size of the text.
func (t *tree) finish(ctx context.Context, size int) error {
	var counts [256]int
	if len(t.nodes) > 0 {
		if have := t.nodes[0].bits.size; have != size {
			return fmt.Errorf("%w: a tree of %d bytes for a text of %d", lance.ErrCorrupt, have, size)
		}
	} else if size > 0 {
		return fmt.Errorf("%w: no tree for a text of %d", lance.ErrCorrupt, size)
	}
	for i := range t.nodes {
		v := &t.nodes[i].bits
		if err := v.finish(ctx); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		ones := v.ones(v.size)
		for bit, c := range t.nodes[i].children {
			n := ones
			if bit == 0 {
				n = v.size - ones
			}
			if value, ok := c.leaf(); ok {
				counts[value] = n
			} else if have := t.nodes[c].bits.size; have != n {
				return fmt.Errorf("%w: node %d has %d bits, want %d", lance.ErrCorrupt, c, have, n)
			}
		}
	}
	for value, n := range counts {
		t.before[value+1] = t.before[value] + n
	}
	return nil
}

// find returns the interval [from, to) of the suffix array whose suffixes begin with a pattern. It searches
// backwards, from the last byte of the pattern.
func (t *tree) find(pattern string) (from, to int) {
	from, to = 0, t.before[256]
	for i := len(pattern) - 1; i >= 0 && from < to; i-- {
		b := pattern[i]
		if len(t.codes[b]) == 0 {
			return 0, 0
		}
		for _, s := range t.codes[b] {
			v := &t.nodes[s.node].bits
			from, to = v.count(s.bit, from), v.count(s.bit, to)
		}
		from, to = from+t.before[b], to+t.before[b]
	}
	return from, to
}

// previous returns the rank of the suffix that begins one byte earlier.
func (t *tree) previous(suffix int) int {
	at := child(0)
	for {
		n := &t.nodes[at]
		bit := n.bits.at(suffix)
		suffix = n.bits.count(bit, suffix)
		at = n.children[bit]
		if b, ok := at.leaf(); ok {
			return t.before[b] + suffix
		}
	}
}

// bytes estimates the memory of the tree.
func (t *tree) bytes() int64 {
	n := int64(0)
	for i := range t.nodes {
		n += int64(8*cap(t.nodes[i].bits.words) + 4*cap(t.nodes[i].bits.ranks))
	}
	return n
}

// rankWords is the number of words per stored rank.
const rankWords = 8

// A bitVector holds bits, the first in the lowest place of the first word, and the number of set bits
// before every rankWords-th word.
type bitVector struct {
	words []uint64
	ranks []uint32
	size  int
}

// finish prepares a vector for counting, once all of its bits are there.
func (v *bitVector) finish(ctx context.Context) error {
	if len(v.words) != (v.size+63)/64 {
		return fmt.Errorf("%w: %d words for %d bits", lance.ErrCorrupt, len(v.words), v.size)
	}
	if err := memory.FromContext(ctx).Take(ctx, 4*int64(len(v.words)/rankWords+1)); err != nil {
		return err
	}
	v.ranks = make([]uint32, 0, len(v.words)/rankWords+1)
	set := 0
	for i, word := range v.words {
		if i%rankWords == 0 {
			v.ranks = append(v.ranks, uint32(set))
		}
		set += bits.OnesCount64(word)
	}
	if len(v.words)%rankWords == 0 {
		v.ranks = append(v.ranks, uint32(set))
	}
	return nil
}

// at returns a bit.
func (v *bitVector) at(i int) int { return int(v.words[i/64] >> (i % 64) & 1) }

// count returns how many of the first n bits equal bit.
func (v *bitVector) count(bit, n int) int {
	if bit == 1 {
		return v.ones(n)
	}
	return n - v.ones(n)
}

// ones returns the number of set bits among the first n.
func (v *bitVector) ones(n int) int {
	word := n / 64
	set := int(v.ranks[word/rankWords])
	for _, w := range v.words[word/rankWords*rankWords : word] {
		set += bits.OnesCount64(w)
	}
	if n%64 != 0 {
		set += bits.OnesCount64(v.words[word] & (1<<(n%64) - 1))
	}
	return set
}

// newTree returns the tree of a Huffman code for at least two distinct byte values, without its bits. It
// breaks ties between frequencies like native Lance.
func newTree(counts [256]int) *tree {
	for {
		t, deep := huffman(counts)
		if !deep {
			return t
		}
		for value, n := range counts {
			counts[value] = (n + 1) / 2 // codes of bytes that are rare become shorter
		}
	}
}

// A branch is a part of a tree that is being made.
type branch struct {
	count, order int
	value        byte       // of a leaf
	parts        [2]*branch // children
}

type branches []*branch

func (b branches) Len() int      { return len(b) }
func (b branches) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *branches) Push(x any)   { *b = append(*b, x.(*branch)) }

func (b branches) Less(i, j int) bool {
	return b[i].count < b[j].count || b[i].count == b[j].count && b[i].order < b[j].order
}

func (b *branches) Pop() any {
	last := len(*b) - 1
	popped := (*b)[last]
	*b = (*b)[:last]
	return popped
}

// huffman returns the tree of a Huffman code. It returns true instead if the tree is too deep.
func huffman(counts [256]int) (*tree, bool) {
	var open branches
	for value, n := range counts {
		if n > 0 {
			open = append(open, &branch{count: n, order: len(open), value: byte(value)})
		}
	}
	heap.Init(&open)
	for order := len(open); len(open) > 1; order++ {
		left, right := heap.Pop(&open).(*branch), heap.Pop(&open).(*branch)
		heap.Push(&open, &branch{count: left.count + right.count, order: order, parts: [2]*branch{left, right}})
	}
	t := &tree{}
	root := t.grow(open[0])
	return t, t.walk(root, nil, map[child]bool{}) != nil
}

// grow adds a branch to the nodes.
func (t *tree) grow(b *branch) child {
	if b.parts[0] == nil {
		return ^child(b.value)
	}
	number := len(t.nodes)
	t.nodes = append(t.nodes, node{})
	for bit, part := range b.parts {
		c := t.grow(part)
		t.nodes[number].children[bit] = c
	}
	return child(number)
}
