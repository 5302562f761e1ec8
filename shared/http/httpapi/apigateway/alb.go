package apigateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// maxALBBytes is the maximum size of a function's answer to a load balancer, as JSON.
const maxALBBytes = 1 << 20

// parseALB reads the event of a load balancer. It passes path and query on undecoded.
func parseALB(ctx context.Context, payload []byte) (event, error) {
	var in events.ALBTargetGroupRequest
	if err := json.Unmarshal(payload, &in); err != nil {
		return event{}, fmt.Errorf("parse the event: %w", err)
	}
	path, query := in.Path, albQuery(in)
	in.Path, in.MultiValueQueryStringParameters, in.QueryStringParameters = "/", nil, nil
	var accessor core.RequestAccessorALB
	r, err := accessor.EventToRequestWithContext(ctx, in)
	if err != nil {
		return event{}, fmt.Errorf("convert the event: %w", err)
	}
	setURL(r, path, query)
	// The load balancer appends the address of its client to the header that it received.
	if hops := strings.Split(r.Header.Get("X-Forwarded-For"), ","); len(hops) > 0 {
		r.RemoteAddr = strings.TrimSpace(hops[len(hops)-1])
	}
	encode := encodeALB
	if in.MultiValueHeaders != nil {
		encode = encodeALBMulti
	}
	return event{request: r, encode: encode, limit: maxALBBytes}, nil
}

// albQuery joins the parameters to a query string. They arrive undecoded.
func albQuery(in events.ALBTargetGroupRequest) string {
	parameters := in.MultiValueQueryStringParameters
	if parameters == nil {
		parameters = map[string][]string{}
		for name, value := range in.QueryStringParameters {
			parameters[name] = []string{value}
		}
	}
	query := url.Values{}
	for name, values := range parameters {
		for _, value := range values {
			query.Add(unescape(name), unescape(value))
		}
	}
	return query.Encode()
}

// unescape decodes a part of a query. It leaves text alone that is not properly encoded.
func unescape(text string) string {
	if decoded, err := url.QueryUnescape(text); err == nil {
		return decoded
	}
	return text
}

// encodeALB encodes the answer to a load balancer with one value per header.
func encodeALB(response *recorder) any {
	answer := albResponse(response)
	answer.Headers = joined(response.header)
	return answer
}

// encodeALBMulti encodes the answer to a load balancer whose target group has multi-value headers
// on; it ignores single-value headers.
func encodeALBMulti(response *recorder) any {
	answer := albResponse(response)
	answer.MultiValueHeaders = response.header
	return answer
}

// albResponse returns the answer to a load balancer, without its headers.
func albResponse(response *recorder) events.ALBTargetGroupResponse {
	body, isBase64 := response.text()
	return events.ALBTargetGroupResponse{
		StatusCode: response.status, StatusDescription: fmt.Sprintf("%d %s", response.status, http.StatusText(response.status)),
		Body: body, IsBase64Encoded: isBase64,
	}
}
