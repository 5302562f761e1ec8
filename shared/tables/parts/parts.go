// Package parts runs the parts of large queries in other instances of the service. A part is a request of QueryTable with
// the token of the caller, so that whoever answers it checks the rights of the caller as for any other query. Requests go
// to a function of AWS Lambda (lambda.go), which may be the one that calls, or to the URL of other servers.
//
// An answer of more than a few megabytes does not fit into the response of a function. It is written to the storage, from
// where it is read (stored.go).
package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tiltyard/shared/client"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/scatter"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/tables/stores"
)

// lambdaScheme begins the place of a function.
const lambdaScheme = "lambda:"

// placeholder is the URL of the server in requests to a function, which has none.
const placeholder = "http://function"

// A Caller sends parts. A nil Caller sends none.
type Caller struct {
	base      string
	transport http.RoundTripper
	settings  stores.Parts
	dollars   func(query.Usage) float64 // what a part costs; nil: unknown
}

// Open returns the caller of the settings, or nil if parts run nowhere else. It sends no request.
func Open(s stores.Parts) *Caller {
	if s.Where == "" {
		return nil
	}
	c := &Caller{base: s.Where, settings: s}
	if name, found := strings.CutPrefix(s.Where, lambdaScheme); found {
		c.dollars = dollarsOf(s.Memory)
		c.base, c.transport = placeholder, &following{&invoking{function: name, endpoint: s.Endpoint, aws: s.AWS}}
	} else {
		c.transport = &following{direct()}
	}
	return c
}

// Prices of AWS in dollars, in us-east-1 in 2025: a gigabyte of memory of a function for a second, a call, and a request
// to S3 that reads.
const gigabyteSecond, perCall, perRead = 0.0000166667, 0.20e-6, 0.40e-6

// dollarsOf returns what parts cost by these prices, or nil if the memory of the function is unknown.
func dollarsOf(memory int64) func(query.Usage) float64 {
	if memory == 0 {
		return nil
	}
	return func(u query.Usage) float64 {
		return float64(memory)/(1<<30)*u.Took.Seconds()*gigabyteSecond + perCall + float64(u.Requests)*perRead
	}
}

// direct returns the transport to servers.
func direct() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// partsPerCall is the number of parts of a large query for each call at the same time. With several, a slow part delays
// the answer less.
const partsPerCall = 4

// Spread returns how parts of queries of a table are run, at most so many at once as the settings allow, and as most if
// that is not 0.
func (c *Caller) Spread(id []string, branch string, most int) *query.Spread {
	if c == nil || most == 1 {
		return nil
	}
	together := c.settings.Together
	if most > 0 {
		together = min(together, most)
	}
	return &query.Spread{
		Call:  func(ctx context.Context, p *query.Part) (*query.Answered, error) { return c.call(ctx, id, branch, p) },
		Busy:  func(err error) bool { return errors.Is(err, errCrowded) },
		Here:  func(err error) bool { return errors.Is(err, errNowhere) || protocol.HasCode(err, protocol.Unsupported) },
		Bytes: 2 * c.settings.Bytes, PartBytes: c.settings.Bytes, Most: partsPerCall * together,
		Dollars: c.dollars,
		Options: scatter.Options{Together: together, Passing: isPassing},
	}
}

// errNowhere is the error of a part that nothing can run: there is no connection, the function is missing, or may not be
// called, or the part is longer than an event.
var errNowhere = errors.New("parts of queries cannot run elsewhere")

// errCrowded is the error of a part that no instance is free for.
var errCrowded = errors.New("no instance is free")

// call sends a part, and returns the answer once it begins.
func (c *Caller) call(ctx context.Context, id []string, branch string, p *query.Part) (*query.Answered, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode a part: %w", err)
	}
	to, err := client.New(c.base, client.Options{Token: auth.TokenOf(ctx), Transport: c.transport, Once: true})
	if err != nil {
		return nil, err
	}
	rows, err := to.QueryTable(ctx, &queryapi.Request{Common: protocol.Common{ID: id}, Branch: branch, Part: string(text)})
	if err != nil {
		return nil, refusal(err)
	}
	answer, usage, known := query.UsageOf(&protocol.Rows{Schema: rows.Schema(), Version: rows.Version, Batches: rows.Batches()})
	if !known {
		// An older release has taken the part for a query of all rows.
		rows.Close()
		return nil, fmt.Errorf("%w: the answer is not that of a part", errNowhere)
	}
	return &query.Answered{Rows: answer, Usage: usage, Free: rows.Close}, nil
}

// refusal returns the error of a part for the client of the query.
func refusal(err error) error {
	var answered *client.Error
	if !errors.As(err, &answered) {
		if errors.Is(err, errNowhere) || errors.Is(err, errCrowded) {
			return err
		}
		if cloud.Unsent(err) {
			return fmt.Errorf("%w: %w", errNowhere, err)
		}
		return &lost{err}
	}
	var known *protocol.Error
	if errors.As(err, &known) && known.Code == protocol.Internal {
		return &lost{err}
	}
	return known
}

// A lost is the error of a part without a usable answer.
type lost struct{ err error }

func (l *lost) Error() string { return "a part of the query: " + l.err.Error() }

// Unwrap returns the cause as an error of the protocol: the query may succeed later.
func (l *lost) Unwrap() []error {
	return []error{&protocol.Error{Code: protocol.ServiceUnavailable, Message: "a part of the query was not answered", Detail: "send the query again"}, l.err}
}

// isPassing reports whether an error of a part may not come again.
func isPassing(err error) bool {
	var l *lost
	return errors.As(err, &l) || errors.Is(err, errCrowded) || protocol.HasCode(err, protocol.ServiceUnavailable) || protocol.HasCode(err, protocol.Throttling)
}
