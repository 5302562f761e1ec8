package lance

import "fmt"

// Contain is deferred by goroutines that decode stored bytes: it reports a panic, which no
// other goroutine could recover from, as an error.
func Contain(report func(error)) {
	if r := recover(); r != nil {
		report(fmt.Errorf("panic while reading: %v", r))
	}
}
