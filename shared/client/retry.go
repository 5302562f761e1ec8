package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"tiltyard/shared/protocol"
)

// A kind classifies an attempt without a usable answer.
type kind uint8

const (
	final   kind = iota // a repetition would not help
	refused             // the server has changed nothing, and a repetition may succeed
	unsent              // no connection was made
	lost                // the server may have performed the call
)

// An outcome is the kind of an attempt and the wait that the server requests.
type outcome struct {
	kind kind
	wait time.Duration
}

// kindOf classifies an error of the transport.
func kindOf(err error) kind {
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return unsent
	}
	return lost
}

// outcomeOf classifies an error response. If the server cannot rule out that the change was made,
// the response counts as lost.
func outcomeOf(e *Error, answer *http.Response) outcome {
	o := outcome{kind: final}
	switch {
	case e.settled:
		o.kind = refused
	case e.fleeting:
		o.kind = lost
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		o.wait = min(time.Duration(seconds)*time.Second, longestPause)
	}
	return o
}

const (
	maxTries     = 5
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
)

// pause returns the wait after a number of attempts: at least the wait that the server requests,
// doubled with each attempt, plus a random addition that spreads the clients.
func (o outcome) pause(tries int) time.Duration {
	d := min(firstPause<<tries, longestPause)
	return max(o.wait, d) + rand.N(d/2+1)
}

// again reports whether the call may be sent again.
func (c *call) again(ctx context.Context, o outcome, try int) bool {
	if o.kind == final || c.client.once || try+1 >= maxTries || c.rows != nil && c.rows.Once {
		return false
	}
	if c.operation.Access == protocol.Read && !c.operation.MayWrite || c.repeatable || o.kind != lost {
		return true
	}
	return !c.unkept() && !c.operation.MayWrite && c.client.honoursKeys(ctx)
}

// unkept reports whether servers do not store the answer of the operation for a repetition, because
// the request contains a secret. AlterSecret is not included, because repeating it is harmless.
func (c *call) unkept() bool { return c.operation.Name == "CreateSecret" }

// pause waits for the time d. It returns false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// honoursKeys reports whether the server performs a write only once if it receives it twice with
// the same key. It sends one request and caches the answer.
func (c *Client) honoursKeys(ctx context.Context) bool {
	c.mu.Lock()
	known := c.keyed
	c.mu.Unlock()
	if known != nil {
		return *known
	}
	version, err := c.ServerVersion(ctx)
	if transport := (*net.OpError)(nil); errors.As(err, &transport) || ctx.Err() != nil {
		return false // the next call sends the request again
	}
	honours := err == nil && version.IdempotencyKeys
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keyed = &honours
	return honours
}

// ServerVersion returns the product and version of the server. Servers other than Tiltyard do not
// support this; the error is then an [Error] or wraps [ErrAnswer].
func (c *Client) ServerVersion(ctx context.Context) (*protocol.ServerVersion, error) {
	probe := &call{
		client: c, url: c.base.JoinPath("version").String(), header: http.Header{"User-Agent": {userAgent}},
		operation: protocol.Operation{Name: "version", Methods: []string{http.MethodGet}, Access: protocol.Read},
	}
	return askCall[protocol.ServerVersion](ctx, probe)
}
