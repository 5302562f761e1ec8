package sql

import (
	"context"

	"tiltyard/shared/engine/view"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// createView creates a materialized view, which a job then fills, or a plain view.
func (s *Service) createView(ctx context.Context, in *statement, c *syntax.CreateView) (*protocol.Rows, error) {
	id := in.id(c.Name)
	if !c.Materialized {
		return s.createPlainView(ctx, in, c, id)
	}
	query, err := in.viewQuery(c.Query.Text)
	if err != nil {
		return nil, err
	}
	req := &viewapi.CreateMaterializedRequest{Common: in.of(id), Query: query}
	if err := refreshOptions(req, c.Options); err != nil {
		return nil, err
	}
	made, err := do(ctx, "CreateMaterializedView", req, s.views.CreateMaterialized)
	if c.IfNotExists && protocol.HasCode(err, protocol.TableAlreadyExists) {
		return begun(""), nil
	}
	if err != nil {
		return nil, err
	}
	return begun(made.JobID), nil
}

// viewQuery returns the query of a view with the whole name of its source.
func (in *statement) viewQuery(text string) (string, error) {
	if len(in.NamespaceID) == 0 {
		return text, nil
	}
	query, err := view.Parse(text)
	if err != nil {
		return "", err
	}
	query.Source = in.id(query.Source)
	return query.String(), nil
}

// refreshOptions reads the options of a new view. They have the names that LanceDB's clients send.
//
// Source: lancedb 0.41, remote/db.rs.
func refreshOptions(req *viewapi.CreateMaterializedRequest, options []syntax.Option) error {
	on, off := false, false
	var every *float64
	for _, o := range options {
		switch o.Name {
		case "auto_refresh_enabled":
			enabled, err := flag(o)
			if err != nil {
				return err
			}
			on, off = enabled, !enabled
		case "auto_refresh_interval_seconds":
			seconds, err := number(o)
			if err != nil {
				return err
			}
			every = &seconds
		default:
			return unknownOption(o, "auto_refresh_enabled and auto_refresh_interval_seconds")
		}
	}
	// An interval alone means that the view is refreshed; one of a view that is not has no effect.
	if req.AutoRefresh = on || every != nil && !off; req.AutoRefresh {
		req.AutoInterval = every
	}
	return nil
}

func (s *Service) createPlainView(ctx context.Context, in *statement, c *syntax.CreateView, id []string) (*protocol.Rows, error) {
	if len(c.Options) > 0 {
		return nil, sql.Errorf(sql.ErrUnsupported, c.Options[0].Pos, "WITH of a view that is not materialized")
	}
	_, err := do(ctx, "CreateView", &viewapi.CreateRequest{Common: in.of(id), Query: c.Query.Text}, s.views.CreatePlain)
	switch {
	case c.IfNotExists && protocol.HasCode(err, protocol.TableAlreadyExists):
		return done("there is already a view or table "+syntax.TableName(id), 0), nil
	case err != nil:
		return nil, err
	}
	return done("created view "+syntax.TableName(id), 0), nil
}

// refreshView begins a job that refreshes a view.
func (s *Service) refreshView(ctx context.Context, in *statement, c *syntax.RefreshView) (*protocol.Rows, error) {
	req := &viewapi.RefreshRequest{Common: in.of(in.id(c.Name))}
	for _, o := range c.Options {
		if o.Name != "full" {
			return nil, unknownOption(o, "full")
		}
		var err error
		if req.Full, err = flag(o); err != nil {
			return nil, err
		}
	}
	began, err := do(ctx, "RefreshMaterializedView", req, s.views.RefreshMaterialized)
	if err != nil {
		return nil, err
	}
	return begun(began.JobID), nil
}

// describeView returns the definition of a materialized view. LanceDB's clients read the column query.
//
// Source: lancedb 0.41, remote/sql/materialized_view.rs.
func (s *Service) describeView(ctx context.Context, in *statement, c *syntax.Describe) (*protocol.Rows, error) {
	id := in.id(c.Name)
	found, err := do(ctx, "DescribeMaterializedView", &viewapi.MaterializedRequest{Common: in.of(id)}, s.views.DescribeMaterialized)
	if err != nil {
		return nil, err
	}
	var source *int64
	if found.SourceVersion != nil {
		source = new(int64(*found.SourceVersion))
	}
	return answer(0,
		column{"name", []string{id[len(id)-1]}}, column{"query", []string{found.Query}}, column{"auto_refresh", []bool{found.AutoRefresh}},
		column{"source_version", []*int64{source}}, column{"refreshed_at_millis", []*int64{found.RefreshedAtMillis}}, column{"last_job_id", []string{found.LastJobID}},
	), nil
}
