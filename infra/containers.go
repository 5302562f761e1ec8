package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecspatterns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awselasticloadbalancingv2"
	"github.com/aws/jsii-runtime-go"
)

// The ports on which the image listens: for HTTP, and for Flight SQL. The latter is also that of the load balancer.
const (
	serverPort = 10024
	sqlPort    = 10025
)

// newContainers creates a Fargate service with the same handlers, which has no size limits for
// bodies: one task behind a load balancer, for uploads and responses of any length. It uses the
// same bucket and records.
func (s *Service) newContainers() {
	n := functions["stream"] // it serves all operations, too
	n.executes = true        // the server runs jobs
	log := s.storage.Logs["containers"]
	s.workers = append(s.workers, "containers")
	role := s.newRole("Containers", n, log, "ecs-tasks.amazonaws.com")
	s.storage.Jobs.GrantConsumeMessages(role)
	environment := s.environment(n, 4096, 3600)
	(*environment)["TILTYARD_LISTEN"] = jsii.Sprintf("0.0.0.0:%d", serverPort)
	(*environment)["TILTYARD_SQL_LISTEN"] = jsii.Sprintf("0.0.0.0:%d", sqlPort)
	certificate := awscertificatemanager.Certificate_FromCertificateArn(s.Stack, jsii.String("ContainersCertificate"), &s.config.Certificate)
	service := awsecspatterns.NewApplicationLoadBalancedFargateService(s.Stack, jsii.String("Containers"), &awsecspatterns.ApplicationLoadBalancedFargateServiceProps{
		Vpc: s.publicNetwork(), AssignPublicIp: jsii.Bool(true), DesiredCount: jsii.Number(1),
		Cpu: jsii.Number(2048), MemoryLimitMiB: jsii.Number(4096),
		RuntimePlatform: &awsecs.RuntimePlatform{CpuArchitecture: s.cpu(), OperatingSystemFamily: awsecs.OperatingSystemFamily_LINUX()},
		Certificate:     certificate,
		SslPolicy:       awselasticloadbalancingv2.SslPolicy_RECOMMENDED_TLS,
		IdleTimeout:     awscdk.Duration_Minutes(jsii.Number(30)),
		CircuitBreaker:  &awsecs.DeploymentCircuitBreaker{Rollback: jsii.Bool(true)},
		TaskImageOptions: &awsecspatterns.ApplicationLoadBalancedTaskImageOptions{
			Image:         awsecs.ContainerImage_FromRegistry(&s.config.Image, nil),
			ContainerPort: jsii.Number(serverPort),
			Environment:   environment,
			TaskRole:      role,
			LogDriver:     awsecs.LogDrivers_AwsLogs(&awsecs.AwsLogDriverProps{LogGroup: log, StreamPrefix: jsii.String("server")}),
		},
	})
	service.LoadBalancer().SetAttribute(jsii.String("routing.http.drop_invalid_header_fields.enabled"), jsii.String("true"))
	service.TargetGroup().ConfigureHealthCheck(&awselasticloadbalancingv2.HealthCheck{Path: jsii.String("/readyz")})
	s.serveSQL(service, certificate)
	output(s.Stack, "ContainersUrl", "the same service without limits of size; give its certificate's name to the load balancer",
		join("https://", service.LoadBalancer().LoadBalancerDnsName()))
}

// serveSQL lets drivers reach Flight SQL of the containers through the same load balancer, by TLS.
func (s *Service) serveSQL(service awsecspatterns.ApplicationLoadBalancedFargateService, certificate awscertificatemanager.ICertificate) {
	container := service.TaskDefinition().DefaultContainer()
	container.AddPortMappings(&awsecs.PortMapping{ContainerPort: jsii.Number(sqlPort)})
	listener := service.LoadBalancer().AddListener(jsii.String("Sql"), &awselasticloadbalancingv2.BaseApplicationListenerProps{
		Port: jsii.Number(sqlPort), Protocol: awselasticloadbalancingv2.ApplicationProtocol_HTTPS,
		Certificates: &[]awselasticloadbalancingv2.IListenerCertificate{certificate},
		SslPolicy:    awselasticloadbalancingv2.SslPolicy_RECOMMENDED_TLS,
	})
	listener.AddTargets(jsii.String("Sql"), &awselasticloadbalancingv2.AddApplicationTargetsProps{
		Port: jsii.Number(sqlPort), Protocol: awselasticloadbalancingv2.ApplicationProtocol_HTTP,
		ProtocolVersion: awselasticloadbalancingv2.ApplicationProtocolVersion_GRPC,
		Targets: &[]awselasticloadbalancingv2.IApplicationLoadBalancerTarget{service.Service().LoadBalancerTarget(&awsecs.LoadBalancerTargetOptions{
			ContainerName: container.ContainerName(), ContainerPort: jsii.Number(sqlPort),
		})},
		HealthCheck: &awselasticloadbalancingv2.HealthCheck{Path: jsii.String("/grpc.health.v1.Health/Check"), HealthyGrpcCodes: jsii.String("0")},
	})
	output(s.Stack, "ContainersSqlUrl", "Flight SQL of the same service, for drivers; give the certificate's name to the load balancer",
		joined(jsii.String("grpc+tls://"), service.LoadBalancer().LoadBalancerDnsName(), jsii.Sprintf(":%d", sqlPort)))
}

// cpu returns the configured processor architecture.
func (s *Service) cpu() awsecs.CpuArchitecture {
	if s.config.Architecture == "amd64" {
		return awsecs.CpuArchitecture_X86_64()
	}
	return awsecs.CpuArchitecture_ARM64()
}
