package index

import (
	"context"
	"slices"
	"strings"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/index/bloomfilter"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/indexing"
)

// Create begins a job that builds an index. In a deployment without jobs it builds the index
// itself.
func (s *Service) Create(ctx context.Context, req *indexapi.CreateRequest) (*indexapi.CreateResponse, error) {
	kind, err := kindOf(req.Type)
	if err != nil {
		return nil, err
	}
	wanted := indexbuild.Index{Name: req.Name, Column: req.Column, Kind: kind, Replace: req.Replaces()}
	if req.Name == "" {
		wanted.Name, wanted.Default = defaultName(req, kind), true
	}
	if asked := params[kind]; asked != nil {
		if wanted.Params, err = asked(req); err != nil {
			return nil, err
		}
	}
	if err := wanted.CanBuild(); err != nil {
		return nil, err
	}
	if s.tables.Jobs == nil {
		done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
			done, err := indices.Create(ctx, t.Table, wanted)
			if err == nil && protocol.BranchName(req.Branch) == "" {
				t.Found.HintNow(ctx, uint64(done.Version))
			}
			return done, err
		})
		return &indexapi.CreateResponse{TransactionID: done.TransactionID}, err
	}
	table, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	opened, err := s.tables.On(ctx, table, req.Branch)
	if err != nil {
		return nil, err
	}
	// Report errors of the request now, instead of in a failed job.
	if err := indices.Check(ctx, opened, wanted); err != nil {
		return nil, err
	}
	begun, err := s.tables.Jobs.Begin(ctx, indexing.Kind, req.ID, indexing.NewOrder(wanted, req.Branch))
	if err != nil {
		return nil, err
	}
	return &indexapi.CreateResponse{TransactionID: begun.ID, JobID: begun.ID}, nil
}

// defaultName returns the name of an index if the request has none. Like native Lance, it joins the
// names along the column's path, and quotes them as in a filter if one contains a dot. Names of
// text indices are always written as in filters, and element indices get another ending; but
// LanceDB clients wait for the unquoted names of these, too.
//
// Source: default_index_name of index/create.rs of crate lance.
func defaultName(req *indexapi.CreateRequest, kind indexmeta.Kind) string {
	names, err := schema.ParsePath(req.Column)
	if err != nil {
		return req.Column // there is no such column
	}
	path := strings.Join(names, ".")
	ofTexts := kind == indexmeta.Text && req.Dialect != protocol.DialectLanceDB
	switch {
	case ofTexts:
		path = schema.FormatFilterPath(names...)
		if strings.EqualFold(req.DocumentGranularity, queryapi.GranularityElement.String()) {
			path += "_list_element"
		}
	case slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, ".") }):
		path = schema.FormatFilterPath(names...)
	}
	return path + "_idx"
}

// params converts the index parameters of a request, for each kind that has any.
var params = map[indexmeta.Kind]func(*indexapi.CreateRequest) (any, error){
	indexmeta.Text: func(req *indexapi.CreateRequest) (any, error) {
		p := textParams(&req.TextParameters)
		return p, indexbuild.CheckTexts(p)
	},
	indexmeta.Vector: func(req *indexapi.CreateRequest) (any, error) { return recipe(req), nil },
	indexmeta.BloomFilter: func(req *indexapi.CreateRequest) (any, error) {
		filters, fits := bloomfilter.NewRecipe(req.NumberOfItems, req.Probability)
		if !fits {
			return nil, protocol.Errorf(protocol.InvalidInput, "filters of number_of_items %d and probability %v are too large; lower the one or raise the other",
				filters.Rows, filters.Probability)
		}
		return filters, nil
	},
}

// recipe returns the parameters of a vector index.
func recipe(req *indexapi.CreateRequest) ivf.Recipe {
	number := func(n *int64) int {
		if n == nil {
			return 0
		}
		return int(*n)
	}
	metric := req.Metric()
	if metric == protocol.DistanceUnset {
		metric = protocol.DistanceL2
	}
	return ivf.Recipe{
		Kind: indexmeta.VectorKind(req.Type), Metric: metric.String(), Partitions: number(req.NumPartitions), TargetRows: number(req.TargetPartitionSize),
		SampleRate: number(req.SampleRate), Iterations: number(req.MaxIterations), SubVectors: number(req.NumSubVectors), Bits: number(req.NumBits),
		Edges: number(req.M), Candidates: number(req.EFConstruction),
	}
}

// CreateScalar creates an index of any kind except vectors.
func (s *Service) CreateScalar(ctx context.Context, req *indexapi.CreateRequest) (*indexapi.CreateResponse, error) {
	if kind, err := kindOf(req.Type); err == nil && kind == indexmeta.Vector {
		return nil, protocol.Errorf(protocol.InvalidInput, "index_type %.40q is one of vectors; send it to create_index", req.Type)
	}
	return s.Create(ctx, req)
}

// kindOf parses the name of an index kind, ignoring case.
func kindOf(name string) (indexmeta.Kind, error) {
	kind := indexmeta.KindNamed(name)
	if kind == indexmeta.Unknown {
		return kind, protocol.Errorf(protocol.InvalidInput, "index_type %.40q is unknown; it may be %s", name, strings.Join(indexmeta.Names(), ", "))
	}
	return kind, nil
}
