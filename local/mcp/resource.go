package mcp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

const (
	resourcePrefix = "tiltyard://table/"
	sampleRows     = 5
)

// addResources adds the tables as resources, for people who put one into a conversation.
func (s *server) addResources() {
	s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "table", Title: "Table", URITemplate: resourcePrefix + "{+id}", MIMEType: "application/json",
		Description: "A table as describe_table shows it, with its first rows. id is its name, with its namespaces in front.",
	}, s.readTable)
}

// A sampled is a table with its first rows.
type sampled struct {
	*description
	Sample *answer `json:"sample"`
}

// readTable returns a table as a resource.
func (s *server) readTable(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	ctx, c, done, err := s.begin(ctx, req.Extra)
	if err != nil {
		return nil, explained(err)
	}
	defer done()
	name, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, resourcePrefix))
	if err != nil {
		return nil, err
	}
	id, err := c.object(name)
	if err != nil {
		return nil, err
	}
	var found sampled
	found.description, err = c.describe(ctx, id)
	if errors.Is(err, protocol.TableNotFound) {
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	} else if err != nil {
		return nil, explained(err)
	}
	found.cut(0, usualColumns)
	found.Sample, err = c.rows(ctx, id, &queryapi.Request{Common: id, Version: &found.Version, K: new(int64(sampleRows))})
	if err != nil {
		return nil, explained(err)
	}
	text, err := encode(found)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: text}}}, nil
}
