package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awswafv2"
	"github.com/aws/jsii-runtime-go"

	"tiltyard/shared/protocol"
)

// newRESTAPI creates the gateway as a REST API. It costs more than an HTTP API, but can have a web
// ACL, and its own errors can have the form of the service's errors. An OpenAPI document, generated
// from the operation table, defines its routes.
func (s *Service) newRESTAPI() traffic {
	stage := &awsapigateway.StageOptions{
		StageName:            &s.config.Stage,
		AccessLogDestination: awsapigateway.NewLogGroupLogDestination(s.storage.Logs["gateway"]),
		AccessLogFormat:      awsapigateway.AccessLogFormat_Custom(jsii.String(accessLog("$context.resourcePath"))),
		LoggingLevel:         awsapigateway.MethodLoggingLevel_ERROR,
		TracingEnabled:       &s.config.Tracing,
	}
	s.throttleREST(stage)
	api := awsapigateway.NewSpecRestApi(s.Stack, jsii.String("RestApi"), &awsapigateway.SpecRestApiProps{
		RestApiName:   s.StackName(),
		ApiDefinition: awsapigateway.ApiDefinition_FromInline(s.openAPI()),
		EndpointTypes: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		DeployOptions: stage,

		DisableExecuteApiEndpoint: s.config.onlyDomain(),
	})
	// The gateway writes its errors to a log of this name. Without this, it would create a log that
	// never expires.
	errors := s.storage.logs.newLog(s.Stack, "ErrorLog", awscdk.Fn_Join(jsii.String(""), &[]*string{
		jsii.String("API-Gateway-Execution-Logs_"), api.RestApiId(), jsii.String("/" + s.config.Stage),
	}))
	api.DeploymentStage().Node().AddDependency(errors)
	for name := range s.Functions {
		if functions[name].behindGateway() {
			s.allowCalls(name, "apigateway.amazonaws.com", s.executeARN(api.RestApiId(), "/*/*/*"))
		}
	}
	if s.config.WebACL != "" {
		awswafv2.NewCfnWebACLAssociation(s.Stack, jsii.String("WebAcl"), &awswafv2.CfnWebACLAssociationProps{
			ResourceArn: api.DeploymentStage().StageArn(), WebAclArn: &s.config.WebACL,
		})
	}
	output(s.Stack, "Url", "where clients connect to", s.newRESTDomain(api))
	return traffic{
		requests:     api.MetricCount(nil),
		serverErrors: api.MetricServerError(nil),
		errorRate:    api.MetricServerError(&awscloudwatch.MetricOptions{Statistic: jsii.String("Average")}),
		clientErrors: api.MetricClientError(nil),
		latency:      api.MetricLatency(&awscloudwatch.MetricOptions{Statistic: jsii.String("p95")}),
	}
}

// newRESTDomain gives the API its own domain, if one is configured, and returns the URL.
func (s *Service) newRESTDomain(api awsapigateway.SpecRestApi) *string {
	if s.config.Domain == "" {
		return awscdk.Fn_Join(jsii.String(""), &[]*string{
			jsii.String("https://"), api.RestApiId(), jsii.String(".execute-api."), s.Region(), jsii.String("."), s.UrlSuffix(),
			jsii.String("/" + s.config.Stage),
		})
	}
	domain := api.AddDomainName(jsii.String("Domain"), &awsapigateway.DomainNameOptions{
		DomainName:     &s.config.Domain,
		Certificate:    awscertificatemanager.Certificate_FromCertificateArn(s.Stack, jsii.String("Certificate"), &s.config.Certificate),
		EndpointType:   awsapigateway.EndpointType_REGIONAL,
		SecurityPolicy: awsapigateway.SecurityPolicy_TLS_1_2,
	})
	output(s.Stack, "DomainTarget", "what the CNAME of the domain must name", domain.DomainNameAliasDomainName())
	return jsii.String("https://" + s.config.Domain)
}

// openAPI returns the OpenAPI document of the gateway. It passes bodies on unchanged, whatever
// their type.
func (s *Service) openAPI() map[string]any {
	paths := map[string]any{}
	add := func(path, method, name string) {
		function := s.Functions[name]
		methods, ok := paths[path].(map[string]any)
		if !ok {
			methods = map[string]any{}
			paths[path] = methods
		}
		methods[method] = map[string]any{
			"parameters":                      parameters(path),
			"responses":                       map[string]any{"default": map[string]any{"description": "an answer"}},
			"x-amazon-apigateway-integration": s.integration(function, name),
		}
	}
	for _, r := range routes() {
		if !r.Slash {
			add(r.Path, strings.ToLower(r.Method), r.Function)
		}
	}
	for _, probe := range []string{"/healthz", "/readyz", "/storez", "/version"} {
		add(probe, "get", "namespace")
	}
	add("/{path+}", "x-amazon-apigateway-any-method", "default")
	return map[string]any{
		"openapi":                                "3.0.1",
		"info":                                   map[string]any{"title": "Tiltyard", "version": "1"},
		"paths":                                  paths,
		"x-amazon-apigateway-binary-media-types": []any{"*/*"},
		"x-amazon-apigateway-gateway-responses":  gatewayResponses(),
	}
}

// parameters describes the variables in a path.
func parameters(path string) []any {
	all := []any{}
	for _, segment := range strings.Split(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimRight(name, "+}")
			all = append(all, map[string]any{
				"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"},
			})
		}
	}
	return all
}

// integration describes how the gateway invokes a function.
func (s *Service) integration(f awslambda.IFunction, name string) map[string]any {
	uri := func(version, what string) *string {
		return awscdk.Fn_Join(jsii.String(""), &[]*string{
			jsii.String("arn:"), s.Partition(), jsii.String(":apigateway:"), s.Region(),
			jsii.String(":lambda:path/" + version + "/functions/"), f.FunctionArn(), &what,
		})
	}
	if s.config.Stream {
		streamed := map[string]any{
			"type": "aws_proxy", "httpMethod": "POST", "responseTransferMode": "STREAM",
			"uri": uri("2021-11-15", "/response-streaming-invocations"),
		}
		if seconds := s.config.seconds(functions[name]); seconds > gatewaySeconds {
			streamed["timeoutInMillis"] = 1000 * seconds // only streams may take longer than 29 seconds
		}
		return streamed
	}
	return map[string]any{"type": "aws_proxy", "httpMethod": "POST", "uri": uri("2015-03-31", "/invocations")}
}

// gatewayResponses gives the gateway's own errors the form that clients parse: they read the number
// in code.
func gatewayResponses() map[string]any {
	explained := func(status int, code protocol.Code, message, detail string) map[string]any {
		body := fmt.Sprintf(`{"error":%[1]q,"code":%[2]d,"type":"/errors/gateway","title":%[1]q,"status":%[3]d,`+
			`"detail":%[4]s,"instance":"$context.path","request_id":"$context.requestId"}`,
			message, code, status, detail)
		return map[string]any{
			"statusCode": strconv.Itoa(status), "responseTemplates": map[string]any{"application/json": body},
		}
	}
	answer := func(status int, code protocol.Code, message string) map[string]any {
		return explained(status, code, message, "$context.error.messageString")
	}
	return map[string]any{
		"DEFAULT_4XX":         answer(http.StatusBadRequest, protocol.InvalidInput, "the gateway refused the request"),
		"DEFAULT_5XX":         answer(http.StatusServiceUnavailable, protocol.ServiceUnavailable, "the gateway got no answer"),
		"INTEGRATION_TIMEOUT": answer(http.StatusGatewayTimeout, protocol.ServiceUnavailable, "the function took too long"),
		"REQUEST_TOO_LARGE": explained(http.StatusRequestEntityTooLarge, protocol.InvalidInput, "the request is larger than the gateway takes",
			strconv.Quote("functions take 4.5 MB of rows in a request: send them in parts, by CreateMultipartWrite, as LanceDB's clients do with "+
				"write_parallelism=2 and LANCE_CLIENT_MAX_BYTES_PER_REQUEST=3000000, or write to the location of the table")),
		"THROTTLED":    answer(http.StatusTooManyRequests, protocol.Throttling, "too many requests"),
		"WAF_FILTERED": answer(http.StatusForbidden, protocol.PermissionDenied, "the web ACL refused the request"),
	}
}
