package secretbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A counting opener returns the ciphertext, and an error for some keys.
type counting struct{ opens atomic.Int32 }

func (c *counting) Open(_ context.Context, id []string, sealed Sealed) ([]byte, error) {
	c.opens.Add(1)
	time.Sleep(time.Second)
	if sealed.Key == "lost" {
		return nil, errors.New("there is no such key")
	}
	return []byte(id[0] + string(sealed.Ciphertext)), nil
}

func TestValuesAreOpenedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := new(counting)
		keys := Keep(from)
		open := func(id, text string, opens int32) {
			t.Helper()
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					value, err := keys.Open(t.Context(), []string{id}, Sealed{Ciphertext: []byte(text)})
					if err != nil || string(value) != id+text {
						t.Errorf("got %q, %v", value, err)
					}
					clear(value)
				})
			}
			if all.Wait(); from.opens.Load() != opens {
				t.Errorf("secret %s with %s: %d were opened, want %d", id, text, from.opens.Load(), opens)
			}
		}
		open("a", "x", 1)
		open("a", "y", 2) // altered
		open("b", "x", 3)
		open("a", "x", 3)
		time.Sleep(keepFor)
		open("a", "x", 4)
		for range 2 {
			if _, err := keys.Open(t.Context(), []string{"a"}, Sealed{Key: "lost"}); err == nil {
				t.Error("a value without a key is opened")
			}
		}
		if from.opens.Load() != 6 {
			t.Errorf("an error is kept: %d were opened", from.opens.Load())
		}
		ctx, done := context.WithTimeout(t.Context(), time.Millisecond)
		defer done()
		go func() { _, _ = keys.Open(t.Context(), []string{"slow"}, Sealed{}) }()
		synctest.Wait()
		if _, err := keys.Open(ctx, []string{"slow"}, Sealed{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one that waits gets %v, want the end of its context", err)
		}
		for i := range 3 * mostKept {
			if _, err := keys.Open(t.Context(), []string{fmt.Sprint(i)}, Sealed{}); err != nil {
				t.Error(err)
			}
		}
		if n := len(keys.(*keeper).values); n > mostKept { //nolint:forcetypeassert // Keep returns one
			t.Errorf("%d values are kept", n)
		}
	})
}
