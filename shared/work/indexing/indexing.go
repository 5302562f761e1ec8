// Package indexing builds indices of tables. It does so in jobs, because a build reads the whole
// column.
package indexing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/build"
	"tiltyard/shared/fulltext"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/job"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/tables"
)

// Kind is the kind of the jobs that build an index.
const Kind = "create_index"

// An Order is the input of a job.
type Order struct {
	Name    string `json:"name"`
	Column  string `json:"column"`
	Type    string `json:"type,omitempty"` // as index.Kind spells it; empty is an index of vectors
	Replace bool   `json:"replace,omitempty"`
	Branch  string `json:"branch,omitempty"`

	Text    *fulltext.Params `json:"text,omitempty"`    // of an index of texts
	Vectors *ivf.Recipe      `json:"vectors,omitempty"` // of an index of vectors
}

// NewOrder returns the order to build an index on a branch of a table.
func NewOrder(n build.Index, branch string) Order {
	o := Order{Name: n.Name, Column: n.Column, Replace: n.Replace, Branch: branch}
	if n.Kind == indexmeta.Vector {
		o.Vectors = &n.Vectors
		return o
	}
	o.Type = n.Kind.String()
	if n.Kind == indexmeta.Text {
		o.Text = &n.Text
	}
	return o
}

func (o Order) index() build.Index {
	n := build.Index{Name: o.Name, Column: o.Column, Kind: indexmeta.KindNamed(o.Type), Replace: o.Replace}
	if o.Text != nil {
		n.Text = *o.Text
	}
	if o.Vectors != nil {
		n.Kind, n.Vectors = indexmeta.Vector, *o.Vectors
	}
	return n
}

// result is the result of a job.
type result struct {
	Version int64 `json:"version"` // of the table, which has the index
}

// Create returns the kind of job that builds an index. A job that is interrupted begins again, unless
// its index has been committed.
func Create(on tables.Tables) job.Kind {
	return job.Single("build", func(ctx context.Context, r *job.Run) (any, error) {
		var order Order
		if err := r.Input(&order); err != nil {
			return nil, err
		}
		commit := uuid.NewSHA1(uuid.NameSpaceOID, []byte(r.ID())).String()
		done, err := on.Change(ctx, r.Object(), order.Branch, func(t *engine.Table) (engine.Written, error) {
			t = t.As(func() (string, time.Time) { return commit, r.Began() })
			return t.CreateIndex(ctx, order.index())
		})
		return result{done.Version}, err
	})
}
