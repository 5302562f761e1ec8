package tracing

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// The used part of OTLP's JSON. Ids are hexadecimal, and 64-bit integers are strings.
//
// Source: opentelemetry.io/docs/specs/otlp, "JSON Protobuf Encoding", and trace.proto of OpenTelemetry.
type (
	request struct {
		Resources []resource `json:"resourceSpans"`
	}
	resource struct {
		About  about   `json:"resource"`
		Scopes []scope `json:"scopeSpans"`
	}
	about struct {
		Attributes []attribute `json:"attributes"`
	}
	scope struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		Trace      string      `json:"traceId"`
		ID         string      `json:"spanId"`
		Parent     string      `json:"parentSpanId,omitempty"`
		State      string      `json:"traceState,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Began      string      `json:"startTimeUnixNano"`
		Ended      string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     status      `json:"status"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text   *string `json:"stringValue,omitempty"`
		Number *string `json:"intValue,omitempty"`
	}
	status struct {
		Code int `json:"code,omitempty"`
	}
)

// statusError is the code of a span that has failed.
const statusError = 2

// encode returns the body of a request to a collector. The spans have ended.
func encode(process []property, batch []*Span) ([]byte, error) {
	spans := make([]span, len(batch))
	for i, s := range batch {
		spans[i] = s.encoded()
	}
	all := scope{Spans: spans}
	all.Scope.Name = "tiltyard"
	return json.Marshal(request{[]resource{{about{attributes(process)}, []scope{all}}}})
}

// encoded returns the OTLP form of a span.
func (s *Span) encoded() span {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := span{
		Trace: hex.EncodeToString(s.link.trace[:]), ID: hex.EncodeToString(s.link.span[:]), State: s.link.state,
		Name: s.name, Kind: int(s.kind),
		Began: nanoseconds(s.began), Ended: nanoseconds(s.ended), Attributes: attributes(s.properties),
	}
	if s.parent != [8]byte{} {
		out.Parent = hex.EncodeToString(s.parent[:])
	}
	if s.failed {
		out.Status.Code = statusError
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributes(properties []property) []attribute {
	out := make([]attribute, len(properties))
	for i, p := range properties {
		out[i].Key = p.name
		if p.isNumber {
			number := strconv.FormatInt(p.number, 10)
			out[i].Value.Number = &number
		} else {
			out[i].Value.Text = &p.text
		}
	}
	return out
}
