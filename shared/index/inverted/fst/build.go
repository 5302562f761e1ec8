package fst

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// A Builder builds an automaton from terms in byte order, numbered 0, 1, 2 … Numbers only grow,
// so an output once placed on a path never has to be moved: each new step carries the difference to the
// number of its term, and final nodes carry none.
type Builder struct {
	out   []byte
	path  []building // nodes of the last term; the next term completes the deeper ones
	depth int        // nodes of path in use, without the root
	term  []byte     // the last term
	sums  []uint64   // for each of its bytes, the number that the path has up to it
	terms uint64

	known map[string]int // addresses of written nodes by their content
	last  int            // address of the last node
	key   []byte
}

// A building is a node that is not written yet.
type building struct {
	final bool
	steps []step // the target of the last step may not be written yet
}

const (
	writtenVersion = 3
	noAddress      = 1 // is the address of no node
	// maxKnownNodes bounds the written nodes that are remembered for reuse.
	maxKnownNodes = 1 << 16
)

// NewBuilder returns a builder without terms.
func NewBuilder() *Builder {
	b := &Builder{path: make([]building, 1), known: map[string]int{}, last: noAddress}
	b.out = binary.LittleEndian.AppendUint64(b.out, writtenVersion)
	b.out = binary.LittleEndian.AppendUint64(b.out, 0)
	return b
}

// Add adds a term, which must be greater than all before it.
func (b *Builder) Add(term string) {
	common := 0
	for common < len(term) && common < len(b.term) && term[common] == b.term[common] {
		common++
	}
	b.freeze(common)
	collected := uint64(0)
	if common > 0 {
		collected = b.sums[common-1]
	}
	b.sums = b.sums[:common]
	for i := common; i < len(term); i++ {
		b.path[i].steps = append(b.path[i].steps, step{on: term[i], output: b.terms - collected})
		collected = b.terms
		b.sums = append(b.sums, collected)
		if len(b.path) == i+1 {
			b.path = append(b.path, building{})
		}
		b.path[i+1] = building{steps: b.path[i+1].steps[:0]}
	}
	b.depth = len(term)
	b.path[b.depth].final = true
	b.term = append(b.term[:0], term...)
	b.terms++
}

// freeze writes the nodes of the last term that are deeper than depth.
func (b *Builder) freeze(depth int) {
	for ; b.depth > depth; b.depth-- {
		steps := b.path[b.depth-1].steps
		steps[len(steps)-1].to = b.write(&b.path[b.depth])
	}
}

// Bytes returns the size of what was written so far, in memory.
func (b *Builder) Bytes() int64 { return int64(cap(b.out)) }

// Finish returns the automaton.
func (b *Builder) Finish() []byte {
	b.freeze(0)
	root := b.write(&b.path[0])
	b.out = binary.LittleEndian.AppendUint64(b.out, b.terms)
	b.out = binary.LittleEndian.AppendUint64(b.out, uint64(root))
	return binary.LittleEndian.AppendUint32(b.out, Checksum(b.out))
}

// Checksum is the checksum at the end of an automaton.
func Checksum(data []byte) uint32 {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// write writes a node, or reuses an equal one, and returns its address.
func (b *Builder) write(n *building) int {
	if n.final && len(n.steps) == 0 {
		return 0
	}
	b.key = append(b.key[:0], 0)
	if n.final {
		b.key[0] = 1
	}
	for _, s := range n.steps {
		b.key = append(b.key, s.on)
		b.key = binary.AppendUvarint(b.key, s.output)
		b.key = binary.AppendUvarint(b.key, uint64(s.to))
	}
	if address, ok := b.known[string(b.key)]; ok {
		return address
	}
	if len(n.steps) == 1 && !n.final {
		b.writeStep(n.steps[0])
	} else {
		b.writeSteps(n)
	}
	b.last = len(b.out) - 1
	if len(b.known) == maxKnownNodes {
		clear(b.known)
	}
	b.known[string(b.key)] = b.last
	return b.last
}

// writeStep writes a node with one step.
func (b *Builder) writeStep(s step) {
	start := len(b.out)
	form := byte(0xc0)
	if s.to != b.last || s.output != 0 {
		form = 0x80
		distance := distanceTo(start, s.to)
		outputs, targets := byteWidth(s.output), max(byteWidth(distance), 1)
		b.number(s.output, outputs)
		b.number(distance, targets)
		b.out = append(b.out, byte(targets<<4|outputs))
	}
	common := strings.IndexByte(commonInputs, s.on) + 1
	if common > maxCommonInput {
		common = 0
	}
	if common == 0 {
		b.out = append(b.out, s.on)
	}
	b.out = append(b.out, form|byte(common))
}

// maxCommonInput is the highest position in commonInputs that fits the six bits of a node.
const maxCommonInput = 63

// writeSteps writes a node of any number of steps.
func (b *Builder) writeSteps(n *building) {
	start, outputs, targets := len(b.out), 0, 0
	for _, s := range n.steps {
		outputs = max(outputs, byteWidth(s.output))
		targets = max(targets, byteWidth(distanceTo(start, s.to)), 1)
	}
	if n.final {
		b.number(0, outputs)
	}
	for i := len(n.steps) - 1; i >= 0; i-- {
		b.number(n.steps[i].output, outputs)
	}
	for i := len(n.steps) - 1; i >= 0; i-- {
		b.number(distanceTo(start, n.steps[i].to), targets)
	}
	for i := len(n.steps) - 1; i >= 0; i-- {
		b.out = append(b.out, n.steps[i].on)
	}
	if len(n.steps) > indexedSteps {
		var places [256]byte
		for i := range places {
			places[i] = 0xff
		}
		for i, s := range n.steps {
			places[s.on] = byte(i)
		}
		b.out = append(b.out, places[:]...)
	}
	b.out = append(b.out, byte(targets<<4|outputs))
	head := byte(0)
	if n.final {
		head = 0x40
	}
	switch count := len(n.steps); {
	case count == 0 || count > 0x3f:
		if count == 256 {
			count = 1 // which needs no byte of its own otherwise
		}
		b.out = append(b.out, byte(count), head)
	default:
		b.out = append(b.out, head|byte(count))
	}
}

// distanceTo returns the distance back from start to the node at address. 0 stands for the empty final
// node.
func distanceTo(start, address int) uint64 {
	if address == 0 {
		return 0
	}
	return uint64(start - address)
}

// number writes a number of some bytes, the lowest first.
func (b *Builder) number(value uint64, width int) {
	for range width {
		b.out = append(b.out, byte(value))
		value >>= 8
	}
}

// byteWidth returns the number of bytes of a number, 0 for 0.
func byteWidth(value uint64) int {
	n := 0
	for ; value > 0; value >>= 8 {
		n++
	}
	return n
}
