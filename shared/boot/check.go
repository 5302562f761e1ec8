package boot

import (
	"context"
	"fmt"
	"strings"

	"tiltyard/shared/storage/objectstore/probe"
)

// CheckRoot returns an error unless the store of the root has the guarantees that commits need,
// such as conditional writes. It writes small objects there, and deletes them.
func (e *Env) CheckRoot(ctx context.Context) error {
	uri := e.Objects.Home().URI
	err := probe.Run(ctx, e.Objects.Home().Store)
	faults := probe.Faults(err)
	if err == nil || len(faults) == 0 {
		return wrap("the store of "+uri+" could not be checked", err)
	}
	var broken strings.Builder
	for _, fault := range faults {
		fmt.Fprintf(&broken, "\n  %v", fault)
	}
	return fmt.Errorf("the store of %s must not hold tables, because commits would get lost there. These guarantees it does not give:%s\n"+
		"docs/stores.md names stores that give them; perhaps a proxy before this one drops headers", uri, &broken)
}

// wrap adds context to an error. It returns nil for nil.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// CheckBucket calls CheckRoot for a root in a bucket, unless the configuration disables the check.
// A directory needs none.
func (e *Env) CheckBucket(ctx context.Context) error {
	if !e.CheckStore || !isBucket(e.Root) {
		return nil
	}
	return e.CheckRoot(ctx)
}
