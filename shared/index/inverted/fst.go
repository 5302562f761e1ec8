package inverted

import (
	"context"
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance"
)

// An automaton is a finite state transducer from terms to numbers, in the format of the Rust crate fst.
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
type automaton struct {
	data    []byte // without the footer; nil if it is paged
	version uint64
	terms   int64
	root    int
}

// footerBytes is the size of the longest footer.
const footerBytes = 20

// firstNode is below the address of any node but the empty final node, whose address is 0.
const firstNode = 16

// newAutomaton returns the automaton in some bytes.
func newAutomaton(data []byte) (*automaton, error) {
	if len(data) < firstNode {
		return nil, fmt.Errorf("%w: terms in %d bytes", lance.ErrCorrupt, len(data))
	}
	a, end, err := parseEdges(data[:firstNode], data, int64(len(data)))
	if err != nil {
		return nil, err
	}
	a.data = data[:end]
	return a, nil
}

// parseEdges validates the header and the footer of an automaton of size bytes, without its nodes, which are validated when
// they are read. last has its last footerBytes or more. end is where the footer begins.
func parseEdges(header, last []byte, size int64) (a *automaton, end int64, err error) {
	footer := 16
	a = &automaton{version: binary.LittleEndian.Uint64(header)}
	switch {
	case a.version < 1 || a.version > 3:
		return nil, 0, fmt.Errorf("%w: terms in an automaton of version %d", lance.ErrUnsupported, a.version)
	case a.version == 3:
		footer += 4
	}
	if end = size - int64(footer); end <= firstNode {
		return nil, 0, fmt.Errorf("%w: terms in %d bytes", lance.ErrCorrupt, size)
	}
	at := len(last) - footer
	terms, root := binary.LittleEndian.Uint64(last[at:]), binary.LittleEndian.Uint64(last[at+8:])
	if terms > maxTerms || root >= uint64(end) || root > 0 && root < firstNode {
		return nil, 0, fmt.Errorf("%w: %d terms from address %d of %d bytes", lance.ErrCorrupt, terms, root, size)
	}
	a.terms, a.root = int64(terms), int(root)
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

// A stretch is a part of the bytes of an automaton.
type stretch struct {
	data []byte
	from int // address of the first byte
}

// node decodes the node at an address of an automaton that is in memory.
func (a *automaton) node(address int, n *node) error {
	return a.nodeIn(stretch{data: a.data}, address, n)
}

// nodeIn decodes the node at an address. The bytes of the node are in s.
func (a *automaton) nodeIn(s stretch, address int, n *node) error {
	n.final, n.finalOutput, n.steps = false, 0, n.steps[:0]
	if address == 0 {
		n.final = true
		return nil
	}
	r := &backwards{stretch: s, at: address, low: max(firstNode, s.from)}
	head := r.byte()
	switch head >> 6 {
	case 3:
		on := r.input(head)
		n.steps = append(n.steps, step{on: on, to: r.at})
		if r.at < firstNode {
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
func (a *automaton) several(r *backwards, head byte, n *node) {
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
	stretch
	at, low int
	bad     bool
}

func (r *backwards) byte() byte {
	if r.at < r.low || r.at-r.from >= len(r.data) {
		r.bad = true
		return 0
	}
	r.at--
	return r.data[r.at+1-r.from]
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
	if distance > first || first-distance < firstNode {
		r.bad = true
		return 0
	}
	return int(first - distance)
}

// A way is how far the search for a term has come. A new one is at the root.
type way struct {
	address int
	passed  int // bytes of the term before the address
	number  uint64
	ended   bool
	found   bool // if it has ended: the automaton has the term, and number is its number
}

// advance follows a term until it has ended, or until has does not have the next node.
func (w *way) advance(a *automaton, term string, has func(address int) (stretch, bool)) error {
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

// numbers implements dictionary.
func (a *automaton) numbers(_ context.Context, terms []string) ([]int64, error) {
	all := make([]int64, len(terms))
	for i, term := range terms {
		w := way{address: a.root}
		if err := w.advance(a, term, func(int) (stretch, bool) { return stretch{data: a.data}, true }); err != nil {
			return nil, err
		}
		all[i] = w.result()
	}
	return all, nil
}

// result returns the number of the term, or -1 if there is none.
func (w *way) result() int64 {
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
