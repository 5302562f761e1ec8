package naming

import (
	"context"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/stored"
)

// A Watch is notified of changes to tables and namespaces. Its methods must be safe for concurrent
// use.
type Watch interface {
	// Leaves is called before an object loses its name. An error prevents the removal, which may also
	// fail afterwards.
	Leaves(ctx context.Context, l Leaving) error
	// Left is called after the removal. A process may die before it calls Left, Changed or Committed.
	Left(ctx context.Context, l Leaving)
	// Changed is called after an object got a name, or a table a version.
	Changed(ctx context.Context, kind keys.Kind, id []string)
	// Committed is called after a branch of a table got a version.
	Committed(ctx context.Context, id []string, branch string)
}

// Leaving is an object that is about to lose its name.
type Leaving struct {
	Kind    keys.Kind `json:"kind"`    // tables or namespaces
	Lineage string    `json:"lineage"` // that of a table, or the UID of a namespace
	ID      []string  `json:"id"`
	To      []string  `json:"to,omitempty"` // the name that it gets; empty: none
	Created time.Time `json:"created"`

	Location string `json:"-"` // of the files of a table, as in its record
}

// noWatch ignores all notifications.
type noWatch struct{}

func (noWatch) Leaves(context.Context, Leaving) error        { return nil }
func (noWatch) Left(context.Context, Leaving)                {}
func (noWatch) Changed(context.Context, keys.Kind, []string) {}
func (noWatch) Committed(context.Context, []string, string)  {}

// LeavingTable describes a table for a watch. ok is false for a plain view, which is not watched.
func LeavingTable(record *stored.Table, to []string) (l Leaving, ok bool) {
	plain := record.View != nil && record.View.Kind != stored.Materialized
	return Leaving{Kind: keys.Tables, Lineage: record.Line(), ID: record.ID, To: to, Created: record.Created, Location: record.Location}, !plain
}

// TakeAway calls do, which removes the name of a table, between the notifications Leaves and Left.
// to is the new name; nil if there is none.
func (r *Registry) TakeAway(ctx context.Context, record *stored.Table, to []string, do func() error) error {
	l, ok := LeavingTable(record, to)
	if !ok {
		return do()
	}
	if err := r.Watch.Leaves(ctx, l); err != nil {
		return err
	}
	err := do()
	r.Watch.Left(context.WithoutCancel(ctx), l)
	return err
}
