package indexing

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/index/bloomfilter"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
)

// An Order is the input of a job.
type Order struct {
	Name    string `json:"name"`
	Default bool   `json:"default,omitempty"` // the request has no index name; see [dataset.NewIndex]
	Column  string `json:"column"`
	Type    string `json:"type,omitempty"` // text of an index.Kind; "" is a vector index
	Replace bool   `json:"replace,omitempty"`
	Branch  string `json:"branch,omitempty"`

	Text    *fulltext.Params    `json:"text,omitempty"`    // for a text index
	Vectors *ivf.Recipe         `json:"vectors,omitempty"` // for a vector index
	Filters *bloomfilter.Recipe `json:"filters,omitempty"` // for a BLOOMFILTER index
}

// NewOrder returns the order to build an index on a branch of a table.
func NewOrder(n indexbuild.Index, branch string) Order {
	o := Order{Name: n.Name, Default: n.Default, Column: n.Column, Replace: n.Replace, Branch: branch}
	if n.Kind != indexmeta.Vector {
		o.Type = n.Kind.String()
	}
	switch params := n.Params.(type) {
	case fulltext.Params:
		o.Text = &params
	case ivf.Recipe:
		o.Vectors = &params
	case bloomfilter.Recipe:
		o.Filters = &params
	}
	return o
}

// index returns the index that the order describes.
func (o Order) index() indexbuild.Index {
	n := indexbuild.Index{Name: o.Name, Default: o.Default, Column: o.Column, Kind: indexmeta.KindNamed(o.Type), Replace: o.Replace}
	switch {
	case o.Text != nil:
		n.Params = *o.Text
	case o.Filters != nil:
		n.Params = *o.Filters
	case o.Vectors != nil:
		n.Kind, n.Params = indexmeta.Vector, *o.Vectors
	}
	return n
}

// named reports whether the order builds an index of this name. An index with a default name may
// get a suffix if shorter names are taken.
func (o Order) named(name string) bool {
	return o.Name == name || o.Default && strings.HasPrefix(name, o.Name+"_")
}

// Building returns the unfinished job that builds a named index on a branch of a table, or nil if
// the newest jobs include none.
func Building(ctx context.Context, transactions *transaction.Store, table []string, branch, name string) (*transaction.Transaction, error) {
	return unfinished(ctx, transactions, Kind, table, branch, name)
}

// Folding returns the unfinished job that merges rows into an index on a branch of a table, or nil if the newest jobs
// include none.
func Folding(ctx context.Context, transactions *transaction.Store, table []string, branch, name string) (*transaction.Transaction, error) {
	return unfinished(ctx, transactions, FoldKind, table, branch, name)
}

// unfinished searches the newest jobs for an unfinished job of a kind on an index.
func unfinished(ctx context.Context, transactions *transaction.Store, kind string, table []string, branch, name string) (*transaction.Transaction, error) {
	const newest = 100
	jobs, _, err := transactions.Jobs(ctx, "", newest)
	if err != nil {
		return nil, err
	}
	for _, job := range jobs {
		if job.Kind != kind || job.Status.Ended() || job.Work == nil || !slices.Equal(job.Object, table) {
			continue
		}
		var order Order
		if json.Unmarshal(job.Work.Input, &order) == nil && order.named(name) && protocol.BranchName(order.Branch) == protocol.BranchName(branch) {
			return transactions.Follow(ctx, job)
		}
	}
	return nil, nil //nolint:nilnil // there is none
}
