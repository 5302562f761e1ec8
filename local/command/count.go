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

// countEvery is the interval at which a terminal shows the number of rows.
const countEvery = 500 * time.Millisecond

// A count counts rows that are read or written. It shows them on a terminal during the work, and at
// the end.
type count struct {
	*bar
	rows        int64
	began, told time.Time
	share       func(rows int64) (done, of int64) // returns the progress after some rows; nil, or of = 0: unknown
}

func startCount(cmd *cobra.Command) *count {
	return &count{bar: newBar(cmd), began: time.Now(), told: time.Now()}
}

// add counts rows, and shows the progress at intervals.
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

// counted returns a source that counts its rows as they are read.
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

// cellsOf returns a progress bar, or "" if the total is unknown.
func cellsOf(done, of int64) string {
	const cells = 20
	if of <= 0 {
		return ""
	}
	done = min(done, of)
	filled := int(float64(done) / float64(of) * cells)
	return fmt.Sprintf("[%s%s] %3.0f%% ", strings.Repeat("#", filled), strings.Repeat("-", cells-filled), float64(done)/float64(of)*100)
}

// A countedFile counts the bytes that are read from a file.
type countedFile struct {
	*os.File
	read atomic.Int64
	size int64
	rows int64 // total rows of the file; 0 if unknown
}

// countFile counts the bytes that are read from a regular file. It returns nil for a reader without
// a size, such as a pipe.
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

// Read implements io.Reader.
func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.read.Add(int64(n))
	return n, err
}

// HasRows implements [rowfile.File].
func (f *countedFile) HasRows(rows int64) { f.rows = rows }

// share returns the progress in a file: in rows if their number is known, else in bytes.
func (f *countedFile) share(rows int64) (done, of int64) {
	if f.rows > 0 {
		return rows, f.rows
	}
	return f.read.Load(), f.size
}
