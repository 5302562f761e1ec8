package executor

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"tiltyard/shared/process/memory"
)

const (
	frameBytes = 16
	callMagic  = "TYC1"
	replyMagic = "TYR1"
	greeting   = "tiltyard 1\n"
)

// frameOf returns the frame of a call without the stream at its end. The caller releases its memory.
func frameOf(ctx context.Context, c *Call, stream []byte) (head []byte, held *memory.Hold, err error) {
	taken, err := memory.Take(ctx, 4*int64(len(c.Artifact)+len(c.Initialization))) // in base64, and copied into the frame
	if err != nil {
		return nil, nil, err
	}
	object, err := json.Marshal(c)
	if err != nil {
		taken.Release()
		return nil, nil, fmt.Errorf("encode a call: %w", err)
	}
	head = append(make([]byte, 0, frameBytes+len(object)), callMagic...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(object)))
	head = binary.LittleEndian.AppendUint64(head, uint64(len(stream)))
	return append(head, object...), &taken, nil
}

// readFrame reads the frame of a reply of at most limit bytes. An error other than a *Fault comes from r.
func readFrame(ctx context.Context, r io.Reader, limit int64) (*Bytes, error) {
	var head [frameBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	status, size := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint64(head[8:])
	if string(head[:4]) != replyMagic || status > 1 {
		return nil, malformed("the command wrote no frame of a reply but %q", head)
	}
	if status == 1 {
		limit = maxFaultBytes
	}
	// Check the length before taking memory for the content.
	if size > uint64(limit) {
		return nil, &Fault{Type: TooLarge, Message: fmt.Sprintf("the reply is larger than %d bytes", limit)}
	}
	reply, err := ReadReply(ctx, io.LimitReader(r, int64(size)), limit)
	if err != nil {
		return nil, err
	}
	if uint64(len(reply.Data)) < size {
		reply.Release()
		return nil, io.ErrUnexpectedEOF
	}
	if status == 1 {
		defer reply.Release()
		return nil, ReadFault(reply.Data)
	}
	return reply, nil
}
