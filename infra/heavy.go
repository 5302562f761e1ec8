package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapplicationautoscaling"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecs"
	"github.com/aws/jsii-runtime-go"
)

const (
	// heavyHoldMinutes is the visibility timeout of the heavy queue. No Lambda function reads this queue, so the timeout need
	// not exceed a function's; its workers extend it by two minutes at a time.
	heavyHoldMinutes = 3
	// heavyCPU, in CPU units, and heavyMemory, in MiB, are the size of a task. A job has the whole
	// task.
	heavyCPU, heavyMemory = 4096, 16384
	// heavyDisk is the disk of a task in GiB, for sorts and merges that do not fit into memory.
	heavyDisk = 100
	// heavyIdleMinutes is the time for which the queue must be empty before the last tasks end.
	heavyIdleMinutes = 10
)

// newHeavyWorkers creates a Fargate service for heavy work. It scales with the queue, to no tasks if the queue is empty. A
// task runs one job at a time.
func (s *Service) newHeavyWorkers() {
	queue := s.storage.HeavyJobs
	n := functions["worker"]
	log := s.storage.Logs["heavy"]
	s.workers = append(s.workers, "heavy")
	role := s.newRole("Heavy", n, log, "ecs-tasks.amazonaws.com")
	queue.GrantConsumeMessages(role)
	environment := s.environment(n, heavyMemory, 3600)
	(*environment)["TILTYARD_LOG_FORMAT"] = jsii.String("json")

	task := awsecs.NewFargateTaskDefinition(s.Stack, jsii.String("HeavyTask"), &awsecs.FargateTaskDefinitionProps{
		Cpu: jsii.Number(heavyCPU), MemoryLimitMiB: jsii.Number(heavyMemory), EphemeralStorageGiB: jsii.Number(heavyDisk),
		RuntimePlatform: &awsecs.RuntimePlatform{CpuArchitecture: s.cpu(), OperatingSystemFamily: awsecs.OperatingSystemFamily_LINUX()},
		TaskRole:        role,
	})
	task.AddContainer(jsii.String("worker"), &awsecs.ContainerDefinitionOptions{
		Image: awsecs.ContainerImage_FromRegistry(&s.config.JobImage, nil), EntryPoint: jsii.Strings("/tiltyard"), Command: jsii.Strings("work"), Environment: environment,
		Logging:     awsecs.LogDrivers_AwsLogs(&awsecs.AwsLogDriverProps{LogGroup: log, StreamPrefix: jsii.String("worker")}),
		StopTimeout: awscdk.Duration_Minutes(jsii.Number(2)),
	})
	vpc, subnets, group := s.heavyNetwork()
	cluster := awsecs.NewCluster(s.Stack, jsii.String("HeavyCluster"), &awsecs.ClusterProps{Vpc: vpc})
	service := awsecs.NewFargateService(s.Stack, jsii.String("HeavyService"), &awsecs.FargateServiceProps{
		Cluster: cluster, TaskDefinition: task, DesiredCount: jsii.Number(0), AssignPublicIp: jsii.Bool(s.network == nil),
		VpcSubnets: subnets, SecurityGroups: &[]awsec2.ISecurityGroup{group},
		MinHealthyPercent: jsii.Number(0), MaxHealthyPercent: jsii.Number(100), // the service may scale to zero
		CircuitBreaker: &awsecs.DeploymentCircuitBreaker{Rollback: jsii.Bool(true)},
	})
	s.scaleHeavyWorkers(cluster, service)
}

// scaleHeavyWorkers adds a task each minute while messages wait, and ends all tasks when no message is waiting or in work.
// It never ends only some of the tasks, because they may be the busy ones.
func (s *Service) scaleHeavyWorkers(cluster awsecs.Cluster, service awsecs.FargateService) {
	target := awsapplicationautoscaling.NewScalableTarget(s.Stack, jsii.String("HeavyTasks"), &awsapplicationautoscaling.ScalableTargetProps{
		MinCapacity: jsii.Number(0), MaxCapacity: jsii.Number(s.config.JobTasks),
		ResourceId:        joined(jsii.String("service/"), cluster.ClusterName(), jsii.String("/"), service.ServiceName()),
		ScalableDimension: jsii.String("ecs:service:DesiredCount"), ServiceNamespace: awsapplicationautoscaling.ServiceNamespace_ECS,
	})
	more := awsapplicationautoscaling.NewStepScalingAction(s.Stack, jsii.String("MoreHeavyTasks"), &awsapplicationautoscaling.StepScalingActionProps{
		ScalingTarget: target, AdjustmentType: awsapplicationautoscaling.AdjustmentType_CHANGE_IN_CAPACITY,
		Cooldown: awscdk.Duration_Minutes(jsii.Number(1)),
	})
	more.AddAdjustment(&awsapplicationautoscaling.AdjustmentTier{Adjustment: jsii.Number(1), LowerBound: jsii.Number(0)})
	none := awsapplicationautoscaling.NewStepScalingAction(s.Stack, jsii.String("NoHeavyTasks"), &awsapplicationautoscaling.StepScalingActionProps{
		ScalingTarget: target, AdjustmentType: awsapplicationautoscaling.AdjustmentType_EXACT_CAPACITY,
	})
	none.AddAdjustment(&awsapplicationautoscaling.AdjustmentTier{Adjustment: jsii.Number(0), UpperBound: jsii.Number(0)})

	minute := &awscloudwatch.MetricOptions{Period: awscdk.Duration_Minutes(jsii.Number(1)), Statistic: jsii.String("Maximum")}
	waiting := s.storage.HeavyJobs.MetricApproximateNumberOfMessagesVisible(minute)
	inWork := s.storage.HeavyJobs.MetricApproximateNumberOfMessagesNotVisible(minute)
	awscloudwatch.NewAlarm(s.Stack, jsii.String("HeavyJobsWait"), &awscloudwatch.AlarmProps{
		AlarmDescription: jsii.String("scales: heavy work waits, and another task starts if there may be more"),
		Metric:           waiting, Threshold: jsii.Number(1), EvaluationPeriods: jsii.Number(1),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	}).AddAlarmAction(awscloudwatchactions.NewApplicationScalingAction(more))
	awscloudwatch.NewAlarm(s.Stack, jsii.String("HeavyJobsDone"), &awscloudwatch.AlarmProps{
		AlarmDescription: jsii.String("scales: no heavy work waits or is being done, and all tasks end"),
		Metric: awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
			Expression: jsii.String("waiting + working"), Period: minute.Period, Label: jsii.String("heavy work"),
			UsingMetrics: &map[string]awscloudwatch.IMetric{"waiting": waiting, "working": inWork},
		}),
		Threshold: jsii.Number(0), EvaluationPeriods: jsii.Number(heavyIdleMinutes),
		ComparisonOperator: awscloudwatch.ComparisonOperator_LESS_THAN_OR_EQUAL_TO_THRESHOLD,
		// A missing value means that the metric is late, not that the queue is empty.
		TreatMissingData: awscloudwatch.TreatMissingData_IGNORE,
	}).AddAlarmAction(awscloudwatchactions.NewApplicationScalingAction(none))
}

// heavyNetwork returns the network of the tasks: the network of the functions, or else one with internet access, through
// which they load their image. Nothing connects to them.
func (s *Service) heavyNetwork() (awsec2.IVpc, *awsec2.SubnetSelection, awsec2.ISecurityGroup) {
	if s.network != nil {
		return s.network.vpc, s.network.subnets, s.network.group
	}
	vpc := s.publicNetwork()
	group := awsec2.NewSecurityGroup(s.Stack, jsii.String("HeavyGroup"), &awsec2.SecurityGroupProps{
		Vpc: vpc, Description: jsii.String("Tiltyard: heavy work, which only calls others"), AllowAllOutbound: jsii.Bool(false),
	})
	group.AddEgressRule(awsec2.Peer_AnyIpv4(), awsec2.Port_HTTPS(), jsii.String("services of AWS, the registry of the image, executors"), nil)
	return vpc, &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PUBLIC}, group
}

// publicNetwork returns the VPC of containers, which have public addresses instead of a NAT gateway. Its endpoints cost
// nothing.
func (s *Service) publicNetwork() awsec2.IVpc {
	if s.public == nil {
		s.public = awsec2.NewVpc(s.Stack, jsii.String("Network"), &awsec2.VpcProps{
			MaxAzs: jsii.Number(2), NatGateways: jsii.Number(0),
			SubnetConfiguration: &[]*awsec2.SubnetConfiguration{{Name: jsii.String("public"), SubnetType: awsec2.SubnetType_PUBLIC}},
			GatewayEndpoints: &map[string]*awsec2.GatewayVpcEndpointOptions{
				"s3":       {Service: awsec2.GatewayVpcEndpointAwsService_S3()},
				"dynamodb": {Service: awsec2.GatewayVpcEndpointAwsService_DYNAMODB()},
			},
		})
	}
	return s.public
}
