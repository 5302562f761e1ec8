package arrowipc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// An LZ4 frame, little-endian:
//
//	u32  magic
//	u8   flags: version 01, then a bit each: blocks are independent, blocks have a
//	     checksum, content size is given, content has a checksum, 0, dictionary id
//	u8   size class of the blocks in bits 4 to 6: 4 is 64 KiB, each further one 4 times
//	u64  content size, if flagged
//	u32  dictionary id, if flagged
//	u8   second byte of the checksum of all since the flags
//	     blocks: u32 size, whose top bit says that the block is stored as it is; the
//	     block; u32 checksum of it, if flagged
//	u32  0, the end of the blocks
//	u32  checksum of the content, if flagged
//
// This package parses frames itself and leaves only their blocks to the library. The
// library's frame reader copies data that could be decoded in place, and keeps the history
// of linked blocks from one frame to the next.
//
// Source: doc/lz4_Frame_format.md of lz4/lz4.
const (
	lz4Magic       = 0x184D2204
	lz4Version     = 0x40
	lz4VersionMask = 0xC0
	lz4Independent = 0x20
	lz4BlockSums   = 0x10
	lz4ContentSize = 0x08
	lz4ContentSum  = 0x04
	lz4Dictionary  = 0x01

	lz4Stored  = 1 << 31
	lz4History = 64 << 10 // how far back linked blocks may reach
)

var errLZ4Truncated = errors.New("lz4: the frame is truncated")

// lz4Frame is a frame that is being decoded; src is the rest of it.
type lz4Frame struct {
	src      []byte
	flags    byte
	maxBlock int
}

// decodeLZ4Frame fills dst with the content of the frame src. It fails if the content is longer or shorter
// than dst, or if src is not exactly one frame.
func decodeLZ4Frame(dst, src []byte) error {
	f := lz4Frame{src: src}
	if err := f.header(len(dst)); err != nil {
		return err
	}
	done := 0
	for {
		n, last, err := f.block(dst, done)
		if err != nil {
			return err
		}
		if last {
			break
		}
		done += n
	}
	if done != len(dst) {
		return fmt.Errorf("lz4: %d bytes instead of %d", done, len(dst))
	}
	if f.flags&lz4ContentSum != 0 && !f.checksum(dst) {
		return errors.New("lz4: checksum of the content")
	}
	if len(f.src) != 0 {
		return fmt.Errorf("lz4: %d bytes after the frame", len(f.src))
	}
	return nil
}

// header consumes the frame up to its first block. A content size other than want is an
// error.
func (f *lz4Frame) header(want int) error {
	if len(f.src) < 7 {
		return errLZ4Truncated
	}
	if binary.LittleEndian.Uint32(f.src) != lz4Magic {
		return errors.New("lz4: not a frame")
	}
	f.flags = f.src[4]
	class := f.src[5] >> 4
	if f.flags&lz4VersionMask != lz4Version || class < 4 || class > 7 {
		return fmt.Errorf("lz4: unknown frame flags %#x %#x", f.flags, f.src[5])
	}
	if f.flags&lz4Dictionary != 0 {
		return errors.New("lz4: the frame needs a dictionary")
	}
	f.maxBlock = 64 << 10 << (2 * (class - 4))
	end := 6
	if f.flags&lz4ContentSize != 0 {
		if end += 8; len(f.src) <= end {
			return errLZ4Truncated
		}
		if size := binary.LittleEndian.Uint64(f.src[6:]); size != uint64(want) {
			return fmt.Errorf("lz4: the frame says it holds %d bytes instead of %d", size, want)
		}
	}
	if byte(xxHash32(f.src[4:end])>>8) != f.src[end] {
		return errors.New("lz4: checksum of the header")
	}
	f.src = f.src[end+1:]
	return nil
}

// block decodes the next block to dst[done:] and returns its size. After the last one it consumes the end
// mark.
func (f *lz4Frame) block(dst []byte, done int) (n int, last bool, err error) {
	if len(f.src) < 4 {
		return 0, false, errLZ4Truncated
	}
	mark := binary.LittleEndian.Uint32(f.src)
	f.src = f.src[4:]
	if mark == 0 {
		return 0, true, nil
	}
	size := int(mark &^ lz4Stored)
	if size > f.maxBlock {
		return 0, false, fmt.Errorf("lz4: block of %d bytes", size)
	}
	if size > len(f.src) {
		return 0, false, errLZ4Truncated
	}
	block := f.src[:size]
	f.src = f.src[size:]
	if f.flags&lz4BlockSums != 0 && !f.checksum(block) {
		return 0, false, errors.New("lz4: checksum of a block")
	}
	room := dst[done:min(len(dst), done+f.maxBlock)]
	if mark&lz4Stored != 0 {
		if len(block) > len(room) {
			return 0, false, errors.New("lz4: more content than announced")
		}
		return copy(room, block), false, nil
	}
	var history []byte
	if f.flags&lz4Independent == 0 {
		history = dst[max(0, done-lz4History):done]
	}
	if n, err = lz4.UncompressBlockWithDict(block, room, history); err != nil {
		return 0, false, fmt.Errorf("lz4: block of %d bytes: %w", size, err)
	}
	return n, false, nil
}

// checksum consumes a checksum, and reports whether it matches content.
func (f *lz4Frame) checksum(content []byte) bool {
	if len(f.src) < 4 {
		return false
	}
	sum := binary.LittleEndian.Uint32(f.src)
	f.src = f.src[4:]
	return sum == xxHash32(content)
}
