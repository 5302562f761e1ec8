package command

import (
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// Progress shows the progress of a command on a terminal if the command takes longer than two
// seconds.
type Progress struct {
	bar         *bar
	done, ended chan struct{}

	mu   sync.Mutex
	text string
}

// NewProgress shows a text. The caller must call End.
func NewProgress(cmd *cobra.Command, text string) *Progress {
	p := &Progress{bar: newBar(cmd), text: text, done: make(chan struct{}), ended: make(chan struct{})}
	if p.bar.out == nil {
		close(p.ended)
		return p
	}
	go func() {
		defer close(p.ended)
		for next := patienceAfter; ; next = countEvery {
			select {
			case <-p.done:
				return
			case <-time.After(next):
				p.mu.Lock()
				p.bar.tell(p.text)
				p.mu.Unlock()
			}
		}
	}()
	return p
}

// Tell changes the text to the number of processed things. of is their total, or 0 if it is
// unknown.
func (p *Progress) Tell(done, of int, what string) {
	text := fmt.Sprintf("%d %s", done, what)
	if of > 0 {
		text = cellsOf(int64(done), int64(of)) + fmt.Sprintf("%d of %d %s", done, of, what)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = text
}

// Print hides the text while write prints lines.
func (p *Progress) Print(write func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.end()
	write()
}

// End stops showing the text.
func (p *Progress) End() {
	close(p.done)
	<-p.ended
	p.bar.end()
}
