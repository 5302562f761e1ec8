// Package mcp serves the tables of a Tiltyard server to agents, by the Model Context Protocol. It
// is a client of that server: each call of a tool is some requests with the token of the caller,
// so that policies and the audit apply to agents as to everybody.
//
// The tools are in files by subject: catalog.go, query.go and write.go. Their names, descriptions
// and arguments are the manual that a model gets, so they state units, limits and the form of
// filters. Answers are JSON of limited size, see answer.go. The transports are in serve.go,
// and the tokens of HTTP in callers.go.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
)

// Options are the settings of a server.
type Options struct {
	// Open returns the client for a call. header is that of the HTTP request, and nil for other transports.
	Open      func(header http.Header) (*client.Client, error)
	Release   string        // version of the program
	Delimiter string        // what separates the namespaces and the name of a table
	Timeout   time.Duration // of one call; 0 is without a bound
	Write     bool          // also offer the tools that change tables
}

// New returns a server of the tools and the resources.
func New(o Options) *sdk.Server {
	s := &server{options: o, sdk: sdk.NewServer(
		&sdk.Implementation{Name: "tiltyard", Title: "Tiltyard", Version: o.Release},
		&sdk.ServerOptions{Instructions: instructions(o), Capabilities: &sdk.ServerCapabilities{}},
	)}
	s.addCatalog()
	s.addQueries()
	s.addResources()
	if o.Write {
		s.addWrites()
	}
	return s.sdk
}

// instructions returns the text that a client puts in front of its model.
func instructions(o Options) string {
	text := fmt.Sprintf(`Tiltyard keeps tables of rows with vectors and texts, in namespaces. A table is named with its namespaces in front, joined by %q, such as %s; errors join the names by $. Begin with list_tables, and call describe_table before a query: it shows the columns, their types, and what can be searched.

Filters are SQL conditions (the dialect of DataFusion) over the columns, without WHERE: price > 10 AND country IN ('DE', 'FR') AND name LIKE 'a%%' AND ended IS NULL AND day >= date '2026-01-31'. Texts are in single quotes. A column whose name has capitals or special characters is in backquotes: `+"`Unit Price`"+` < 5. A member of a struct is address.city.

Every change of a table makes a new version with the next number. Read several pages at one version, so that they fit together.`, o.Delimiter, "sales"+o.Delimiter+"orders")
	if !o.Write {
		text += " These tools only read."
	}
	return text
}

// A server is what the tools have in common.
type server struct {
	options Options
	sdk     *sdk.Server
}

// A call is one use of a tool or a resource.
type call struct {
	*server
	client *client.Client
}

// begin opens a client for a request. The caller calls done at the end.
func (s *server) begin(ctx context.Context, extra *sdk.RequestExtra) (_ context.Context, c *call, done func(), err error) {
	var header http.Header
	if extra != nil {
		header = extra.Header
	}
	opened, err := s.options.Open(header)
	if err != nil {
		return nil, nil, nil, err
	}
	done = func() {}
	if s.options.Timeout > 0 {
		ctx, done = context.WithTimeout(ctx, s.options.Timeout)
	}
	return ctx, &call{s, opened}, done, nil
}

// Annotations of tools. No tool reaches beyond the tables.
func reads(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)}
}

func adds(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, DestructiveHint: new(false), OpenWorldHint: new(false)}
}

func removes(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, DestructiveHint: new(true), OpenWorldHint: new(false)}
}

// maxAnswerBytes bounds every answer. Those with rows stay below it, see maxRowBytes.
const maxAnswerBytes = 256 << 10

// add adds a tool with arguments of type In. Its answer is the JSON of what do returns, as text and
// as structured content. An error of do is an answer that is marked as an error.
func add[In any](s *server, name string, about *sdk.ToolAnnotations, description string, do func(context.Context, *call, In) (any, error)) {
	// A row may be any object.
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
	}})
	if err != nil {
		panic(fmt.Sprintf("mcp: the arguments of %s: %v", name, err))
	}
	tool := &sdk.Tool{Name: name, Title: about.Title, Annotations: about, Description: description, InputSchema: schema}
	sdk.AddTool(s.sdk, tool, func(ctx context.Context, req *sdk.CallToolRequest, _ In) (*sdk.CallToolResult, any, error) {
		ctx, c, done, err := s.begin(ctx, req.Extra)
		if err != nil {
			return nil, nil, explained(err)
		}
		defer done()
		// The arguments that the SDK has checked and decoded went through float64, which rounds large integers.
		var in In
		if len(req.Params.Arguments) > 0 {
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, nil, fmt.Errorf("the arguments: %w", err)
			}
		}
		out, err := do(ctx, c, in)
		if err != nil {
			return nil, nil, explained(err)
		}
		text, err := encode(out)
		if err != nil {
			return nil, nil, err
		}
		if len(text) > maxAnswerBytes {
			return nil, nil, fmt.Errorf("the answer has %d bytes, and at most %d are possible; ask for less by limit, or use the command line", len(text), maxAnswerBytes)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
	})
}

// encode returns a value as JSON, in which <, > and & are not escaped, for models read it.
func encode(value any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// explained adds the advice of the server, and the id of a request that failed inside of it, to an error.
func explained(err error) error {
	var refusal *protocol.Error
	var request *client.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the call took longer than its bound, and was ended; a change that it asked for may be made all the same: %w", err)
	case !errors.As(err, &refusal):
		return err
	case refusal.Detail != "":
		err = fmt.Errorf("%w\n%s", err, refusal.Detail)
	}
	if errors.As(err, &request) && refusal.Code == protocol.Internal && request.RequestID != "" {
		err = fmt.Errorf("%w\nthe request is %s", err, request.RequestID)
	}
	return err
}

// object parses the name of a table.
func (c *call) object(name string) (protocol.Common, error) {
	id, err := protocol.SplitID(name, c.options.Delimiter)
	if err == nil && len(id) == 0 {
		err = fmt.Errorf("table is %q, the root namespace; list_tables names the tables", name)
	}
	return protocol.Common{ID: id}, err
}

// name writes the name of an object, as [call.object] reads it.
func (c *call) name(id []string) string { return protocol.JoinID(id, c.options.Delimiter) }

// bounded returns the limit of an argument, or usual if it is not given.
func bounded(limit, usual, most int64) (int64, error) {
	if limit == 0 {
		return usual, nil
	}
	if limit < 1 || limit > most {
		return 0, fmt.Errorf("limit is %d; it must be from 1 to %d", limit, most)
	}
	return limit, nil
}
