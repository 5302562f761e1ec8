package simulation_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/tables/stores"
)

// What is here lets instances call each other as a function: parts of queries are calls of Lambda's API. Which
// instance runs a part, whether any does, and when its answer arrives is decided by the scheduler. An instance may
// be one that has served before, whose caches know older versions, or one of another release.

// calling returns the settings of an instance whose queries run as parts.
func (w *world) calling(from *instance) stores.Parts {
	anyone := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "simulated", SecretAccessKey: "simulated"}, nil
	})
	return stores.Parts{
		Where: "lambda:query", Endpoint: "http://lambda", Bytes: 1, Together: 3,
		AWS: func() (aws.Config, error) {
			return aws.Config{Region: "us-east-1", Credentials: anyone, HTTPClient: &calls{w, from}}, nil
		},
	}
}

// calls are the calls that one instance makes.
type calls struct {
	world *world
	from  *instance
}

// A callKind is the half of a call that a parked request stands for.
type callKind int

const (
	noCall  callKind = iota
	asking           // the call is on its way to an instance
	telling          // the answer is on its way back
)

// A called is the event of a call, as far as the simulation reads it.
type called struct {
	RawPath string
	Headers map[string]string
	Body    string
}

// Do implements the HTTP client for Lambda's API.
func (c *calls) Do(r *http.Request) (*http.Response, error) {
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var event called
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	w, who := c.world, whoseCall(r.Context(), event)
	s := &sent{method: r.Method, url: r.URL, header: http.Header{}, body: payload, call: asking, text: "CALL"}
	defer w.counting(who)()
	v := w.park(r.Context(), &parked{who: c.from.name + " " + who, instance: c.from, sent: s})
	switch {
	case v.err != nil:
		return nil, v.err
	case len(v.by) == 0:
		return lambdaAnswer(r, v.answer.status, "", nil), nil
	}
	// Nothing tells a function that nobody waits for it any more.
	first := make(chan response, len(v.by))
	for _, i := range v.by {
		go func() { first <- w.runPart(i, who, event) }()
	}
	var got response
	select {
	case got = <-first:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	back := *s
	back.call, back.text = telling, fmt.Sprintf("ANSWER %d", got.status)
	if v := w.park(r.Context(), &parked{who: c.from.name + " " + who, instance: c.from, sent: &back}); v.err != nil {
		return nil, v.err
	}
	if got.status == 0 {
		return lambdaAnswer(r, http.StatusOK, "Unhandled", map[string]string{"errorType": "Runtime.ExitError"}), nil
	}
	return lambdaAnswer(r, http.StatusOK, "", map[string]any{
		"statusCode": got.status, "headers": map[string]string{"content-type": got.kind},
		"body": base64.StdEncoding.EncodeToString(got.body), "isBase64Encoded": true,
	}), nil
}

// whoseCall names a part, for the trace and the order: the operation that it belongs to and its rows.
func whoseCall(ctx context.Context, event called) string {
	who, _ := ctx.Value(whoKey{}).(string)
	var body struct{ Part string }
	var part struct {
		Version   int
		Stretches []struct{ Fragment, From, To int }
	}
	_ = json.Unmarshal([]byte(event.Body), &body)
	_ = json.Unmarshal([]byte(body.Part), &part)
	return fmt.Sprintf("%s/part of v%d %v", who, part.Version, part.Stretches)
}

// counting counts the calls for one part that run at the same time, until its result is called.
func (w *world) counting(who string) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[who]++; w.running[who] > 1 {
		w.witness.counts["parts sent twice"]++
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running[who]--
	}
}

// runPart runs a part on an instance, whose answer must be a refusal if the caller may not read when it begins.
func (w *world) runPart(i *instance, who string, event called) response {
	may := w.mayRead()
	got := i.serve(who, request{path: event.RawPath, body: []byte(event.Body), header: event.Headers})
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case got.status == http.StatusOK && !may:
		w.wrong = fmt.Sprintf("%s %s was answered with rows although its caller has no right", i.name, who)
	case got.status == http.StatusOK:
		w.witness.counts["parts"]++
	case got.status == http.StatusForbidden:
		w.witness.counts["parts refused"]++
	}
	return got
}

// lambdaAnswer is a response of Lambda's API.
func lambdaAnswer(r *http.Request, status int, failure string, body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	header := http.Header{}
	if failure != "" {
		header.Set("X-Amz-Function-Error", failure)
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}
}

// decideCall lets a call happen, or its answer arrive, with or without a fault.
func (w *world) decideCall(p *parked) {
	o := w.odds
	switch asks := p.sent.call == asking; {
	case w.fault(o.crash):
		w.note("%s: THE CALLER DIES", p.who)
		w.kill(p)
	case w.fault(o.freeze):
		w.note("%s: FREEZES", p.who)
		w.freeze(p)
	case w.fault(o.lost):
		w.note("%s: LOST", p.who)
		p.grant <- verdict{err: errReset}
	case !asks && w.fault(o.slow):
		w.note("%s: IS LATE", p.who)
		w.mu.Lock()
		p.until = w.clock.Add(time.Duration(1+w.rng.IntN(20)) * time.Second)
		w.parked = append(w.parked, p)
		w.mu.Unlock()
	case !asks:
		w.note("%s", p.who)
		p.grant <- verdict{}
	case w.fault(o.crowded):
		w.note("%s: NO INSTANCE IS FREE", p.who)
		w.counted("parts without an instance")
		p.grant <- verdict{answer: answer{status: http.StatusTooManyRequests}}
	case w.fault(o.broken):
		w.note("%s: 500 AS A FAULT", p.who)
		p.grant <- verdict{answer: answer{status: http.StatusInternalServerError}}
	default:
		by := []*instance{w.callee()}
		if w.fault(o.twice / 4) {
			by = append(by, w.callee())
		}
		w.note("%s: on %s", p.who, by[len(by)-1].name)
		p.grant <- verdict{by: by}
	}
}

func (w *world) counted(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.witness.counts[what]++
}

// callee chooses the instance that runs a part: one that serves clients, too, or one of the callees alone.
func (w *world) callee() *instance {
	if w.rng.IntN(3) == 0 {
		w.mu.Lock()
		alive := slices.DeleteFunc(slices.Clone(w.instances), func(i *instance) bool { return i.dead })
		w.mu.Unlock()
		if len(alive) > 0 {
			return alive[w.rng.IntN(len(alive))]
		}
	}
	slot := w.rng.IntN(len(w.callees))
	if i := w.callees[slot]; i == nil || i.deadNow() || w.rng.IntN(8) == 0 {
		w.mu.Lock()
		n := len(w.instances)
		w.mu.Unlock()
		i = w.start(fmt.Sprintf("p%02d", n), 0)
		older := w.fault(60)
		newer := !older && w.fault(60)
		switch {
		case older:
			i.handler = otherRelease{i.handler, func(body map[string]any) { delete(body, "part") }}
			w.counted("instances of an older release")
		case newer:
			i.handler = otherRelease{i.handler, func(body map[string]any) {
				if part, ok := body["part"].(string); ok {
					body["part"] = strings.Replace(part, `"format":`, `"format":9`, 1)
				}
			}}
			w.counted("instances of a newer release")
		}
		w.callees[slot] = i
	}
	return w.callees[slot]
}

// otherRelease reads requests as another release does: an older one does not know parts, and answers the whole
// query; a newer one has another format of them.
type otherRelease struct {
	http.Handler
	read func(body map[string]any)
}

func (h otherRelease) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var body map[string]any
	if json.Unmarshal(text, &body) == nil {
		h.read(body)
		text, _ = json.Marshal(body)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	h.Handler.ServeHTTP(w, r)
}

// readerToken is the token of a caller whose right to read is given and taken.
const readerToken = "reader-of-the-simulation"

// mayRead reports whether this caller has the right now.
func (w *world) mayRead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.revoked
}

// reader verifies this caller.
type reader struct{ world *world }

// Verify implements [auth.Verifier].
func (v reader) Verify(_ context.Context, token string) (*auth.Principal, error) {
	p := &auth.Principal{Subject: "reader"}
	switch {
	case token != readerToken:
		return nil, &protocol.Error{Code: protocol.Unauthenticated, Message: "the token is not known"}
	case v.world.mayRead():
		p.Scopes = []string{auth.ScopeRead}
	}
	return p, nil
}

// rightPath is that of a request that gives the right, or takes it.
const rightPath = "/right/"

// giver serves these requests.
type giver struct{ world *world }

func (g giver) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	g.world.revoked = strings.HasSuffix(r.URL.Path, "take")
}
