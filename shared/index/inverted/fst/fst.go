// Package fst reads and writes finite state transducers from terms to numbers, in the format of the Rust crate fst: the
// dictionary of a text index. An [Automaton] may be in memory, or be read in parts by whoever has the bytes ([Way]).
package fst

import (
	"context"
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance"
)

// An Automaton is a finite state transducer from terms to numbers.
// Each term is a path through a graph of nodes, and the numbers along the path add up to the number of the
// term.
//
//	0    u64  version, 1 to 3
//	8    u64  type
//	16        nodes, each after the nodes that its steps lead to
//	-20  u64  the number of terms    (-16 before version 3)
//	-12  u64  address of the root         (-8)
//	-4   u32  checksum                    (none)
//
// A node is read backwards from its address. The two high bits of that byte select one of three forms:
//
//	11  one step, to the node just before this one
//	10  one step, with a number and the distance of its target node
//	0f  several steps; f is set if a term ends here
//
// Source: raw/node.rs and raw/mod.rs of crate fst 0.4.
type Automaton struct {
	Terms int64 // their number
	root  int   // address

	data    []byte // without the footer; nil if it is read in parts
	version uint64
}

// maxTerms bounds the terms: their numbers have 32 bits.
const maxTerms = 1<<32 - 1

// FooterBytes is the size of the longest footer.
const FooterBytes = 20

// HeaderBytes is the size of what is before the nodes. All have higher addresses, but the empty final node, whose address
// is 0.
const HeaderBytes = 16

// New returns the automaton in some bytes. The error is lance.ErrCorrupt or lance.ErrUnsupported.
func New(data []byte) (*Automaton, error) {
	if len(data) < HeaderBytes {
		return nil, fmt.Errorf("%w: terms in %d bytes", lance.ErrCorrupt, len(data))
	}
	a, end, err := ParseEdges(data[:HeaderBytes], data, int64(len(data)))
	if err != nil {
		return nil, err
	}
	a.data = data[:end]
	return a, nil
}

// ParseEdges validates the header and the footer of an automaton of size bytes, without its nodes, which are validated when
// they are read. last has its last FooterBytes or more. end is where the footer begins.
func ParseEdges(header, last []byte, size int64) (a *Automaton, end int64, err error) {
	footer := 16
	a = &Automaton{version: binary.LittleEndian.Uint64(header)}
	switch {
	case a.version < 1 || a.version > 3:
		return nil, 0, fmt.Errorf("%w: terms in an automaton of version %d", lance.ErrUnsupported, a.version)
	case a.version == 3:
		footer += 4
	}
	if end = size - int64(footer); end <= HeaderBytes {
		return nil, 0, fmt.Errorf("%w: terms in %d bytes", lance.ErrCorrupt, size)
	}
	at := len(last) - footer
	terms, root := binary.LittleEndian.Uint64(last[at:]), binary.LittleEndian.Uint64(last[at+8:])
	if terms > maxTerms || root >= uint64(end) || root > 0 && root < HeaderBytes {
		return nil, 0, fmt.Errorf("%w: %d terms from address %d of %d bytes", lance.ErrCorrupt, terms, root, size)
	}
	a.Terms, a.root = int64(terms), int(root)
	return a, end, nil
}

// A node is a decoded node of an automaton.
type node struct {
	final       bool
	finalOutput uint64
	steps       []step
}

// A step is a transition to another node on one byte of a term.
type step struct {
	on     byte
	to     int
	output uint64
}

// commonInputs lists the frequent bytes. A node with one step stores the position of its byte in this list,
// counted from 1, instead of the byte.
const commonInputs = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHGWUV,YKJZXQ;)(~[]$!'*@"

// A Stretch is a part of the bytes of an automaton.
type Stretch struct {
	Data []byte
	From int // address of the first byte
}

// MostNode is the size of the largest node: 256 steps with a target and an output of eight bytes each, their bytes, the table
// of a large node, and four numbers.
const MostNode = 256*(8+8+1) + 256 + 8 + 3

// node decodes the node at an address of an automaton that is in memory.
func (a *Automaton) node(address int, n *node) error {
	return a.nodeIn(Stretch{Data: a.data}, address, n)
}

// nodeIn decodes the node at an address. The bytes of the node are in s.
func (a *Automaton) nodeIn(s Stretch, address int, n *node) error {
	n.final, n.finalOutput, n.steps = false, 0, n.steps[:0]
	if address == 0 {
		n.final = true
		return nil
	}
	r := &backwards{Stretch: s, at: address, low: max(HeaderBytes, s.From)}
	head := r.byte()
	switch head >> 6 {
	case 3:
		on := r.input(head)
		n.steps = append(n.steps, step{on: on, to: r.at})
		if r.at < HeaderBytes {
			r.bad = true
		}
	case 2:
		on := r.input(head)
		sizes := r.byte()
		distance, output := r.uint(int(sizes>>4)), r.uint(int(sizes&15))
		n.steps = append(n.steps, step{on: on, to: r.target(distance), output: output})
	default:
		a.several(r, head, n)
	}
	if r.bad {
		return fmt.Errorf("%w: the node of terms at %d is none", lance.ErrCorrupt, address)
	}
	for i := range n.steps {
		if n.steps[i].to >= address {
			return fmt.Errorf("%w: the node of terms at %d leads forward", lance.ErrCorrupt, address)
		}
	}
	return nil
}

// indexedSteps is the maximal number of steps of a node without a lookup table.
const indexedSteps = 32

// several decodes a node of several steps.
func (a *Automaton) several(r *backwards, head byte, n *node) {
	n.final = head&0x40 != 0
	count := int(head & 0x3f)
	if count == 0 {
		if count = int(r.byte()); count == 1 {
			count = 256
		}
	}
	sizes := r.byte()
	if a.version >= 2 && count > indexedSteps {
		r.skip(256)
	}
	for range count {
		n.steps = append(n.steps, step{on: r.byte()})
	}
	distances := r.at
	width := int(sizes >> 4)
	r.skip(count * width)
	for i := range n.steps {
		n.steps[i].output = r.uint(int(sizes & 15))
	}
	if n.final {
		n.finalOutput = r.uint(int(sizes & 15))
	}
	end := *r // a distance is from the lowest byte of the node
	r.at = distances
	for i := range n.steps {
		n.steps[i].to = end.target(r.uint(width))
	}
	r.bad = r.bad || end.bad
}

// backwards reads bytes from the end of a node to its beginning. at is the address of the next byte, and low the least that
// it may be.
type backwards struct {
	Stretch
	at, low int
	bad     bool
}

func (r *backwards) byte() byte {
	if r.at < r.low || r.at-r.From >= len(r.Data) {
		r.bad = true
		return 0
	}
	r.at--
	return r.Data[r.at+1-r.From]
}

func (r *backwards) skip(n int) {
	if r.at-n < r.low-1 {
		r.bad = true
		return
	}
	r.at -= n
}

// input reads the byte of a step, unless head encodes a common one.
func (r *backwards) input(head byte) byte {
	if common := int(head & 0x3f); common > 0 {
		return commonInputs[common-1]
	}
	return r.byte()
}

// uint reads a number of width bytes, which is little-endian in file order.
func (r *backwards) uint(width int) uint64 {
	if width > 8 {
		r.bad = true
		return 0
	}
	value := uint64(0)
	for range width {
		value = value<<8 | uint64(r.byte())
	}
	return value
}

// target returns the address that is a distance before the node that was read.
func (r *backwards) target(distance uint64) int {
	if distance == 0 {
		return 0
	}
	first := uint64(r.at + 1)
	if distance > first || first-distance < HeaderBytes {
		r.bad = true
		return 0
	}
	return int(first - distance)
}

// A Way is how far the search for a term has come.
type Way struct {
	address int
	passed  int // bytes of the term before the address
	number  uint64
	ended   bool
	found   bool // if it has ended: the automaton has the term, and number is its number
}

// Begin returns the way of a term, at the root.
func (a *Automaton) Begin() Way { return Way{address: a.root} }

// Advance follows a term until it has ended, or until has does not have the next node. has returns bytes before an address and
// the byte at it, at least MostNode of them or all after the header; for the address 0, anything.
func (w *Way) Advance(a *Automaton, term string, has func(address int) (Stretch, bool)) error {
	var n node
	for !w.ended {
		in, ok := has(w.address)
		if !ok {
			return nil
		}
		if err := a.nodeIn(in, w.address, &n); err != nil {
			return err
		}
		if w.passed == len(term) {
			w.number, w.ended, w.found = w.number+n.finalOutput, true, n.final
			break
		}
		next := n.find(term[w.passed])
		if next == nil {
			w.ended = true
			break
		}
		w.address, w.passed, w.number = next.to, w.passed+1, w.number+next.output
	}
	return nil
}

// Numbers returns the numbers of terms, and -1 for those that are not in it.
func (a *Automaton) Numbers(_ context.Context, terms []string) ([]int64, error) {
	all := make([]int64, len(terms))
	for i, term := range terms {
		w := a.Begin()
		if err := w.Advance(a, term, func(int) (Stretch, bool) { return Stretch{Data: a.data}, true }); err != nil {
			return nil, err
		}
		all[i] = w.Number()
	}
	return all, nil
}

// Number returns the number of the term, or -1 if there is none.
func (w *Way) Number() int64 {
	if !w.found {
		return -1
	}
	return int64(min(w.number, maxTerms))
}

func (n *node) find(on byte) *step {
	for i := range n.steps {
		if n.steps[i].on == on {
			return &n.steps[i]
		}
	}
	return nil
}
