package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"tiltyard/shared/client"
)

// countEvery is how often the number of rows is told on a terminal.
const countEvery = 500 * time.Millisecond

// A count tells how many rows have been read or written: on a terminal while that goes on, and in the end.
type count struct {
	*bar
	rows        int64
	began, told time.Time
	share       func(rows int64) (done, of int64) // how far it is after some rows; nil, or of 0: not known
}

func startCount(cmd *cobra.Command) *count {
	return &count{bar: newBar(cmd), began: time.Now(), told: time.Now()}
}

func (c *count) add(rows int64) {
	c.rows += rows
	if now := time.Now(); now.Sub(c.told) >= countEvery {
		c.told = now
		text := fmt.Sprintf("%d rows, %.0f a second", c.rows, float64(c.rows)/now.Sub(c.began).Seconds())
		if c.share != nil {
			text = cellsOf(c.share(c.rows)) + text
		}
		c.tell(text)
	}
}

// counted returns a source that tells how many of its rows have been read.
func (c *count) counted(rows client.Source) client.Source {
	batches := rows.Batches
	rows.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			if err == nil {
				c.add(batch.NumRows())
			}
			if !yield(batch, err) {
				return
			}
		}
		c.tell(fmt.Sprintf("%d rows are read; waiting for the server", c.rows))
	}
	return rows
}

// cellsOf is a bar of a part of a whole; nothing if the whole is not known.
func cellsOf(done, of int64) string {
	const cells = 20
	if of <= 0 {
		return ""
	}
	done = min(done, of)
	filled := int(float64(done) / float64(of) * cells)
	return fmt.Sprintf("[%s%s] %3.0f%% ", strings.Repeat("#", filled), strings.Repeat("-", cells-filled), float64(done)/float64(of)*100)
}

// A countedFile counts the bytes that have been read of a file.
type countedFile struct {
	*os.File
	read atomic.Int64
	size int64
	rows int64 // in the file; 0: not known before it has been read
}

// countFile counts the bytes of a regular file. It is nil for what has no size, such as a pipe.
func countFile(in io.Reader) *countedFile {
	file, ok := in.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return &countedFile{File: file, size: info.Size()}
}

// Read reads on.
func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.read.Add(int64(n))
	return n, err
}

// share is how much of the file has been read, when that many rows have been.
func (f *countedFile) share(rows int64) (done, of int64) {
	if f.rows > 0 {
		return rows, f.rows
	}
	return f.read.Load(), f.size
}
