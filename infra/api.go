package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"tiltyard/shared/protocol/operations"
)

// routes returns the gateway routes of the operations that a function serves. A route leads to the
// function named after the operation's group. The function called default serves all other
// operations and unknown paths.
func routes() []operations.GatewayRoute {
	return slices.DeleteFunc(operations.GatewayRoutes(), func(r operations.GatewayRoute) bool {
		_, served := functions[r.Function]
		return !served
	})
}

// routeID returns the construct id of a route, from which CDK derives the id of the resource.
func routeID(r operations.GatewayRoute) string {
	id := "Route" + title(strings.ToLower(r.Method))
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(r.Path, "/v1"), func(c rune) bool { return c < 'a' || c > 'z' }) {
		id += title(word)
	}
	return id
}

// traffic contains the metrics of a gateway. errorRate is the fraction of requests with a server
// error: gateways report 1 for each of these and 0 for all others.
type traffic struct {
	requests, serverErrors, errorRate, clientErrors, latency awscloudwatch.IMetric
}

// newHTTPAPI creates the gateway as an HTTP API, with routes from the operation table.
//
// Functions verify tokens in any case. An authorizer in the gateway saves function calls for
// requests without a valid token, but it reads only the header Authorization: clients that send
// their token as x-api-key, as LanceDB clients do, are refused.
func (s *Service) newHTTPAPI() traffic {
	api := awsapigatewayv2.NewCfnApi(s.Stack, jsii.String("Api"), &awsapigatewayv2.CfnApiProps{
		Name: s.StackName(), ProtocolType: jsii.String("HTTP"),
		Description: jsii.String("Tiltyard"), CorsConfiguration: s.config.cors(),
		DisableExecuteApiEndpoint: s.config.onlyDomain(),
	})
	integrations := map[string]*string{}
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		if !functions[name].behindGateway() {
			continue
		}
		f := s.Functions[name]
		integration := awsapigatewayv2.NewCfnIntegration(s.Stack, jsii.String(title(name)+"Integration"), &awsapigatewayv2.CfnIntegrationProps{
			ApiId: api.Ref(), IntegrationType: jsii.String("AWS_PROXY"),
			IntegrationUri: f.FunctionArn(), PayloadFormatVersion: jsii.String("2.0"),
		})
		integrations[name] = join("integrations/", integration.Ref())
		s.allowCalls(name, "apigateway.amazonaws.com", s.executeARN(api.Ref(), "/*/*"))
	}
	authorization, authorizer := s.newAuthorizer(api)
	var all []awsapigatewayv2.CfnRoute
	add := func(id, key, function string, open bool) {
		props := &awsapigatewayv2.CfnRouteProps{
			ApiId: api.Ref(), RouteKey: &key, Target: integrations[function],
			AuthorizationType: &authorization, AuthorizerId: authorizer,
		}
		if open {
			props.AuthorizationType, props.AuthorizerId = jsii.String("NONE"), nil
		}
		all = append(all, awsapigatewayv2.NewCfnRoute(s.Stack, &id, props))
	}
	for _, r := range routes() {
		add(routeID(r), r.Method+" "+r.Path, r.Function, false)
	}
	add("RouteDefault", "$default", "default", false)
	// Probes must work without a token.
	for _, probe := range []string{"healthz", "readyz", "version"} {
		add("Route"+title(probe), "GET /"+probe, "namespace", true)
	}
	// This probe writes to the storage, so it needs a token.
	add("RouteStorez", "GET /storez", "namespace", false)
	for id, page := range pages {
		add("RoutePage"+id, "GET "+page, "default", true)
	}
	s.newStage(api, all)
	output(s.Stack, "Url", "where clients connect to", s.newHTTPDomain(api))
	return httpTraffic(api)
}

// pages maps route names to the paths of web pages. They need no authorizer: they contain nothing
// secret, and a browser has no token yet when it requests them.
var pages = map[string]string{
	"Console": "/console", "ConsoleFiles": "/console/{path+}", "Docs": "/docs", "DocsFiles": "/docs/{path+}",
	"OpenAPI": "/openapi.json", "LLMs": "/llms.txt",
}

// newStreamURL gives a function URL to the function that serves all operations. The function
// streams its responses, which HTTP APIs cannot do. Like the gateway, the URL is public; the
// function verifies tokens.
func (s *Service) newStreamURL() {
	url := s.Functions["stream"].AddFunctionUrl(&awslambda.FunctionUrlOptions{
		AuthType: awslambda.FunctionUrlAuthType_NONE, InvokeMode: awslambda.InvokeMode_RESPONSE_STREAM,
	})
	output(s.Stack, "StreamUrl", "the same service for answers beyond 6 MB", url.Url())
}

// newAuthorizer creates the gateway's authorizer, if it is configured. It returns the authorization
// type and id.
func (s *Service) newAuthorizer(api awsapigatewayv2.CfnApi) (kind string, id *string) {
	if s.config.Authorizer != "gateway" {
		return "NONE", nil
	}
	authorizer := awsapigatewayv2.NewCfnAuthorizer(s.Stack, jsii.String("Authorizer"), &awsapigatewayv2.CfnAuthorizerProps{
		ApiId: api.Ref(), Name: jsii.String("issuer"), AuthorizerType: jsii.String("JWT"),
		IdentitySource: jsii.Strings("$request.header.Authorization"),
		JwtConfiguration: &awsapigatewayv2.CfnAuthorizer_JWTConfigurationProperty{
			Audience: jsii.Strings(s.config.Audience), Issuer: &s.config.Issuer,
		},
	})
	return "JWT", authorizer.Ref()
}

// accessLog returns the format of the gateway's log lines. route is the variable with the route of a request.
func accessLog(route string) string {
	return `{"requestId":"$context.requestId","ip":"$context.identity.sourceIp","method":"$context.httpMethod","route":"` + route + `",` +
		`"path":"$context.path","status":"$context.status","bytes":"$context.responseLength",` +
		`"latency":"$context.responseLatency","error":"$context.error.message","integration":"$context.integrationErrorMessage"}`
}

// newStage creates the default stage with access log and throttling, after all routes.
func (s *Service) newStage(api awsapigatewayv2.CfnApi, routes []awsapigatewayv2.CfnRoute) {
	props := &awsapigatewayv2.CfnStageProps{
		ApiId: api.Ref(), StageName: jsii.String("$default"), AutoDeploy: jsii.Bool(true),
		AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
			DestinationArn: s.storage.Logs["gateway"].LogGroupArn(), Format: jsii.String(accessLog("$context.routeKey")),
		},
	}
	s.throttleHTTP(props)
	stage := awsapigatewayv2.NewCfnStage(s.Stack, jsii.String("Stage"), props)
	for _, route := range routes {
		stage.AddResourceDependency(route, nil)
	}
}

// onlyDomain disables the name that AWS gives an API, if the API has a domain of its own.
func (c Config) onlyDomain() *bool {
	if c.Domain == "" {
		return nil
	}
	return jsii.Bool(true)
}

// newHTTPDomain gives the API its own domain, if one is configured, and returns the URL.
func (s *Service) newHTTPDomain(api awsapigatewayv2.CfnApi) *string {
	if s.config.Domain == "" {
		return api.AttrApiEndpoint()
	}
	domain := awsapigatewayv2.NewCfnDomainName(s.Stack, jsii.String("Domain"), &awsapigatewayv2.CfnDomainNameProps{
		DomainName: &s.config.Domain,
		DomainNameConfigurations: []any{&awsapigatewayv2.CfnDomainName_DomainNameConfigurationProperty{
			CertificateArn: &s.config.Certificate, EndpointType: jsii.String("REGIONAL"),
			SecurityPolicy: jsii.String("TLS_1_2"),
		}},
	})
	awsapigatewayv2.NewCfnApiMapping(s.Stack, jsii.String("DomainMapping"), &awsapigatewayv2.CfnApiMappingProps{
		ApiId: api.Ref(), DomainName: domain.Ref(), Stage: jsii.String("$default"),
	})
	output(s.Stack, "DomainTarget", "what the CNAME of the domain must name", domain.AttrRegionalDomainName())
	return jsii.String("https://" + s.config.Domain)
}

// allowCalls permits a service to invoke the function of a folder, from one source.
func (s *Service) allowCalls(name, service string, source *string) {
	s.Functions[name].AddPermission(jsii.String("Gateway"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(&service, nil), SourceArn: source,
	})
}

// executeARN returns the ARN of an API's methods; rest selects stage, method and path.
func (s *Service) executeARN(api *string, rest string) *string {
	return awscdk.Fn_Join(jsii.String(""), &[]*string{
		jsii.String("arn:"), s.Partition(), jsii.String(":execute-api:"), s.Region(), jsii.String(":"), s.Account(),
		jsii.String(":"), api, &rest,
	})
}
