package lance

import "fmt"

// Contain is deferred by goroutines that decode stored bytes. It reports a panic as an error,
// because no other goroutine could recover from it.
func Contain(report func(error)) {
	if r := recover(); r != nil {
		report(fmt.Errorf("panic while reading: %v", r))
	}
}
