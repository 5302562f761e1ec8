package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

// A function that streams rows has time for the largest answer that AWS lets through.
func TestStreamsHaveTimeForTheLargestAnswer(t *testing.T) {
	const atOnce, perSecond, most, query = 6, 2, 200, gatewaySeconds
	least := float64((most-atOnce)/perSecond + query)
	for gateway, streams := range map[string]string{"http": "Stream", "rest": "Query"} {
		_, service := synthesize(t, map[string]any{"stream": "true", "gateway": gateway})
		for id, p := range service.all("AWS::Lambda::Function") {
			seconds, isGateway := p["Timeout"].(float64), !strings.HasPrefix(id, "Worker")
			switch {
			case strings.HasPrefix(id, streams) && seconds < least:
				t.Errorf("%s: %s has %v seconds, want %v", gateway, id, seconds, least)
			case !strings.HasPrefix(id, streams) && isGateway && seconds > gatewaySeconds:
				t.Errorf("%s: %s has %v seconds; its gateway waits for %d", gateway, id, seconds, gatewaySeconds)
			}
		}
	}
}

// The StreamUrl has no gateway that limits requests, so its function has a limit, or the deployment warns.
func TestStreamsAreLimited(t *testing.T) {
	for _, c := range []struct {
		context map[string]any
		want    any
		warned  bool
	}{
		{map[string]any{"stream": "true"}, 100.0, false},
		{map[string]any{"stream": "true", "reserve-stream": "7"}, 7.0, false},
		{map[string]any{"stream": "true", "reserve-stream": "0"}, nil, true},
	} {
		_, service := newStacks(t, c.context)
		found := false
		for id, p := range readTemplate(service.Stack).all("AWS::Lambda::Function") {
			if strings.HasPrefix(id, "Stream") {
				found = true
				if p["ReservedConcurrentExecutions"] != c.want {
					t.Errorf("%v: reserves %v, want %v", c.context, p["ReservedConcurrentExecutions"], c.want)
				}
			}
		}
		warnings := *assertions.Annotations_FromStack(service.Stack).FindWarning(jsii.String("*"), assertions.Match_StringLikeRegexp(jsii.String("STREAMURL")))
		if !found || (len(warnings) > 0) != c.warned {
			t.Errorf("%v: found %t, warned %d times", c.context, found, len(warnings))
		}
	}
}

func TestTooLargeUploadsHearOfParts(t *testing.T) {
	answer := gatewayResponses()["REQUEST_TOO_LARGE"].(map[string]any)
	body := answer["responseTemplates"].(map[string]any)["application/json"].(string)
	if answer["statusCode"] != "413" || !strings.Contains(body, "CreateMultipartWrite") {
		t.Errorf("got %v", answer)
	}
}
