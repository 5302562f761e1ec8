package main

import (
	"strings"
	"testing"
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

func TestTooLargeUploadsHearOfParts(t *testing.T) {
	answer := gatewayResponses()["REQUEST_TOO_LARGE"].(map[string]any)
	body := answer["responseTemplates"].(map[string]any)["application/json"].(string)
	if answer["statusCode"] != "413" || !strings.Contains(body, "CreateMultipartWrite") {
		t.Errorf("got %v", answer)
	}
}
