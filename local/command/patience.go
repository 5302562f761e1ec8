package command

import (
	"fmt"
	"time"
)

// patienceAfter is the time after which a waiting command shows that it waits.
const patienceAfter = 2 * time.Second

// patiently calls ask, which waits for an answer of the server. On a terminal it shows the elapsed
// time if that exceeds two seconds.
func patiently[T any](r *run, ask func() (T, error)) (T, error) {
	bar := newBar(r.cmd)
	if bar.out == nil {
		return ask()
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer bar.end()
		for began, next := time.Now(), patienceAfter; ; next = time.Second {
			select {
			case <-done:
				return
			case <-time.After(next):
				bar.tell(fmt.Sprintf("waiting for the server since %.0f s", time.Since(began).Seconds()))
			}
		}
	}()
	defer func() {
		close(done)
		<-ended
	}()
	return ask()
}
