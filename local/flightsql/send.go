package flightsql

import (
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/client"
)

// pieceBytes is the size of messages that large batches are cut into. Some clients refuse messages beyond 4 MiB.
const pieceBytes = 1 << 20

// errTooSlow ends a call whose client does not read, because its rows occupy memory.
var errTooSlow = errors.New("the client took too long to read the rows")

// run executes a statement and sends its rows while they are read.
func (s *Server) run(ctx context.Context, statement *statement, stream flight.DataStreamWriter) error {
	c, err := s.front.client(ctx)
	if err != nil {
		return statusOf(ctx, err)
	}
	rows, err := c.ExecuteStatement(ctx, statement.request())
	if err != nil {
		return statusOf(ctx, err)
	}
	defer rows.Close()
	return statusOf(ctx, sendRows(ctx, c, rows, stream))
}

// sendRows sends the schema and all batches. If they name a job, it has ended then.
func sendRows(ctx context.Context, c *client.Client, rows *client.Rows, stream flight.DataStreamWriter) error {
	writer := flight.NewRecordWriter(stream, ipc.WithSchema(rows.Schema()))
	for batch, err := range rows.Batches() {
		if err == nil && isJob(rows.Schema()) {
			err = await(ctx, c, batch)
		}
		if err == nil {
			err = writePieces(writer, batch)
		}
		if err != nil {
			return err
		}
	}
	return writer.Close() // sends the schema if there were no rows
}

// writePieces writes a batch, cut by rows into messages of about pieceBytes.
func writePieces(writer *flight.Writer, batch arrow.RecordBatch) error {
	rows := batch.NumRows()
	step := max(rows, 1)
	if size := bytesOf(batch); size > pieceBytes {
		step = max(rows*pieceBytes/size, 1)
	}
	for from := int64(0); from == 0 || from < rows; from += step {
		piece := batch.NewSlice(from, min(from+step, rows))
		err := writer.Write(piece)
		piece.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// bytesOf returns how many bytes the buffers of a batch have.
func bytesOf(batch arrow.RecordBatch) int64 {
	var total int64
	var add func(arrow.ArrayData)
	add = func(data arrow.ArrayData) {
		for _, buffer := range data.Buffers() {
			if buffer != nil {
				total += int64(buffer.Len())
			}
		}
		for _, child := range data.Children() {
			add(child)
		}
	}
	for _, column := range batch.Columns() {
		add(column.Data())
	}
	return total
}

// guarded runs a call that sends rows. It returns when the call has ended, its time is over, or the client has stopped to
// read: sending then waits in vain until the call has returned, and ends by that.
func (s *Server) guarded(parent context.Context, stream flight.DataStreamWriter, call func(context.Context, flight.DataStreamWriter) error) error {
	ctx, cancel := context.WithTimeoutCause(parent, s.Timeout+grace, context.DeadlineExceeded)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watched := &watchedStream{DataStreamWriter: stream, stop: stop, after: s.StallTimeout}
	done := make(chan error, 1)
	go func() {
		defer s.contain(ctx, done)
		done <- call(ctx, watched)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // it has noticed by itself
		return err
	case <-time.After(leaveTime):
		return statusOf(ctx, ctx.Err())
	}
}

// grace lets the handler answer that the time is over.
const grace = 5 * time.Second

// watchedStream ends a call if the client takes too long for one message.
type watchedStream struct {
	flight.DataStreamWriter
	stop  context.CancelCauseFunc
	after time.Duration
}

// Send implements flight.DataStreamWriter.
func (w *watchedStream) Send(data *flight.FlightData) error {
	timer := time.AfterFunc(w.after, func() { w.stop(errTooSlow) })
	defer timer.Stop()
	return w.DataStreamWriter.Send(data)
}
