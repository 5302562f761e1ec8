package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/jsii-runtime-go"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

// rate returns the requests per second that the gateway admits to a route. A burst may have twice
// as many.
func (c Config) rate(r operations.GatewayRoute) int {
	switch {
	case functions[r.Function].rows:
		return c.ThrottleRows
	case r.Access == protocol.Write:
		return c.ThrottleChanges
	}
	return c.ThrottleReads
}

const burst = 2

// throttleHTTP limits the requests to an HTTP API. The default is the limit of routes that read
// names; other routes get the limit of their class. The settings of a route require that the route
// exists.
func (s *Service) throttleHTTP(props *awsapigatewayv2.CfnStageProps) {
	limit := func(rate int) map[string]any {
		return map[string]any{"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": burst * rate}
	}
	props.DefaultRouteSettings = &awsapigatewayv2.CfnStage_RouteSettingsProperty{
		ThrottlingRateLimit: jsii.Number(s.config.ThrottleReads), ThrottlingBurstLimit: jsii.Number(burst * s.config.ThrottleReads),
	}
	settings := map[string]any{}
	for _, r := range routes() {
		if rate := s.config.rate(r); rate != s.config.ThrottleReads {
			settings[r.Method+" "+r.Path] = limit(rate)
		}
	}
	props.RouteSettings = settings
}

// throttleREST limits the requests to a REST API in the same way.
func (s *Service) throttleREST(options *awsapigateway.StageOptions) {
	options.ThrottlingRateLimit = jsii.Number(s.config.ThrottleReads)
	options.ThrottlingBurstLimit = jsii.Number(burst * s.config.ThrottleReads)
	methods := map[string]*awsapigateway.MethodDeploymentOptions{}
	for _, r := range routes() {
		rate := s.config.rate(r)
		if r.Slash || rate == s.config.ThrottleReads {
			continue
		}
		methods[r.Path+"/"+r.Method] = &awsapigateway.MethodDeploymentOptions{
			ThrottlingRateLimit: jsii.Number(rate), ThrottlingBurstLimit: jsii.Number(burst * rate),
			LoggingLevel: awsapigateway.MethodLoggingLevel_ERROR, // the settings of a method replace those of the stage
		}
	}
	options.MethodOptions = &methods
}

// cors permits web pages of the configured origins to call an HTTP API. It returns nil if there are
// none.
func (c Config) cors() any {
	if len(c.CORSOrigins) == 0 {
		return nil
	}
	return &awsapigatewayv2.CfnApi_CorsProperty{
		AllowOrigins:  jsii.Strings(c.CORSOrigins...),
		AllowMethods:  jsii.Strings("GET", "POST", "PUT", "DELETE"),
		AllowHeaders:  jsii.Strings("authorization", "content-type", "idempotency-key", "traceparent", "tracestate", "x-api-key", "x-request-id"),
		ExposeHeaders: jsii.Strings("retry-after", "ratelimit", "ratelimit-policy", "x-request-id", "x-gateway-request-id", "x-lambda-request-id"),
		MaxAge:        jsii.Number(3600),
	}
}

// origins reads the origins of web pages.
func (r *reader) origins(name string) []string {
	text := r.text(name, "https:// origins, with commas", "")
	if text == "" {
		return nil
	}
	var origins []string
	for _, one := range strings.Split(text, ",") {
		one = strings.TrimSpace(one)
		u, err := url.Parse(one)
		if err != nil || u.Scheme != "https" || u.Host == "" || one != fmt.Sprintf("https://%s", u.Host) || strings.Contains(one, "*") {
			r.fail(name, "%q is not an origin, such as https://app.example.com", one)
		}
		origins = append(origins, one)
	}
	return origins
}

// warnOfSilentAlarms adds a warning to the deployment and to the outputs of the stack if no alarm
// topic is configured.
func (s *Service) warnOfSilentAlarms() {
	if s.config.AlarmTopic != "" || s.config.Throw {
		return
	}
	const message = "NO ALARM REACHES ANYBODY: name a topic of SNS by alarm-topic"
	awscdk.Annotations_Of(s.Stack).AddWarningV2(jsii.String("tiltyard:alarms"), jsii.String(message))
	output(s.Stack, "Alarms", "whom alarms reach", jsii.String(message))
}

// warnOfOpenURL adds a warning to the deployment if nothing limits the requests to the StreamUrl.
func (s *Service) warnOfOpenURL() {
	if !s.config.streamURL() || s.config.ReserveURL > 0 || s.config.Throw {
		return
	}
	awscdk.Annotations_Of(s.Stack).AddWarningV2(jsii.String("tiltyard:stream"), jsii.String(
		"A FLOOD OF REQUESTS TO THE STREAMURL TAKES THE CONCURRENCY OF THE ACCOUNT: set reserve-stream"))
}
