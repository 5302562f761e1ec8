package inverted

import (
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
	data    []byte
	version uint64
	terms   int64
	root    int
}

// firstNode is below the address of any node but the empty final node, whose address is 0.
const firstNode = 16

// newAutomaton validates the header and the footer of an automaton. Nodes are validated when they are read.
func newAutomaton(data []byte) (*automaton, error) {
	footer := 16
	if len(data) < firstNode+footer+1 {
		return nil, fmt.Errorf("%w: terms in %d bytes", lance.ErrCorrupt, len(data))
	}
	a := &automaton{version: binary.LittleEndian.Uint64(data)}
	switch {
	case a.version < 1 || a.version > 3:
		return nil, fmt.Errorf("%w: terms in an automaton of version %d", lance.ErrUnsupported, a.version)
	case a.version == 3:
		footer += 4
	}
	at := len(data) - footer
	if at <= firstNode {
		return nil, fmt.Errorf("%w: terms in %d bytes", lance.ErrCorrupt, len(data))
	}
	a.data = data[:at]
	terms, root := binary.LittleEndian.Uint64(data[at:]), binary.LittleEndian.Uint64(data[at+8:])
	if terms > maxTerms || root >= uint64(at) || root > 0 && root < firstNode {
		return nil, fmt.Errorf("%w: %d terms from address %d of %d bytes", lance.ErrCorrupt, terms, root, len(data))
	}
	a.terms, a.root = int64(terms), int(root)
	return a, nil
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

// node decodes the node at an address.
func (a *automaton) node(address int, n *node) error {
	n.final, n.finalOutput, n.steps = false, 0, n.steps[:0]
	if address == 0 {
		n.final = true
		return nil
	}
	r := &backwards{data: a.data, at: address, low: firstNode}
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

// backwards reads bytes from the end of a node to its beginning. at is the index of the next byte.
type backwards struct {
	data    []byte
	at, low int
	bad     bool
}

func (r *backwards) byte() byte {
	if r.at < r.low || r.at >= len(r.data) {
		r.bad = true
		return 0
	}
	r.at--
	return r.data[r.at+1]
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

// get returns the number of a term.
func (a *automaton) get(term string) (number uint64, ok bool, err error) {
	var n node
	address := a.root
	for i := 0; ; i++ {
		if err := a.node(address, &n); err != nil {
			return 0, false, err
		}
		if i == len(term) {
			return number + n.finalOutput, n.final, nil
		}
		next := n.find(term[i])
		if next == nil {
			return 0, false, nil
		}
		number += next.output
		address = next.to
	}
}

func (n *node) find(on byte) *step {
	for i := range n.steps {
		if n.steps[i].on == on {
			return &n.steps[i]
		}
	}
	return nil
}
