package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/jsii-runtime-go"
)

// These messages of package jobs have a kind and no table: they begin the jobs of package sweep, which check all
// tables for maintenance, and all views that are refreshed without requests.
const (
	lookAtAll   = `{"kind":"look_at_tables"}`
	lookAtViews = `{"kind":"look_at_views"}`
)

// These messages let a worker resend messages of jobs that the queue or a dead process has lost:
// reviveJobs for young jobs, which covers nearly all of them, and reviveAllJobs for all jobs.
const (
	reviveJobs    = `{"kind":"revive"}`
	reviveAllJobs = `{"kind":"revive_all"}`
)

// probe is a request to /readyz in the form of an HTTP API, which functions also accept behind a REST API, and probed is the
// function that serves it.
const (
	probe  = `{"version":"2.0","rawPath":"/readyz","requestContext":{"http":{"method":"GET","path":"/readyz"}}}`
	probed = "namespace"
)

// look creates the schedules. Once a day all tables are checked, including tables that are not
// written, and once an hour all views, because other programs may write to their sources. Lost
// messages are resent sooner. Every five minutes a function is asked for its readiness, so that an
// outage is noticed without requests of clients.
func (s *Service) look() {
	group := awsscheduler.NewCfnScheduleGroup(s.Stack, jsii.String("Clocks"), nil)
	s.clocks = group.Ref()
	role := awsiam.NewRole(s.Stack, jsii.String("ClockRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), nil),
	})
	allow := func(resource *string, actions ...string) {
		role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions: jsii.Strings(actions...), Resources: &[]*string{resource},
		}))
	}
	allow(s.storage.Jobs.QueueArn(), "sqs:SendMessage")
	if s.storage.Key != nil {
		allow(s.storage.Key.KeyArn(), "kms:Decrypt", "kms:GenerateDataKey")
	}
	asked := s.Functions[probed]
	allow(asked.FunctionArn(), "lambda:InvokeFunction")
	call := func(target *string, name, rate string, flexible int, message, description string) {
		awsscheduler.NewCfnSchedule(s.Stack, jsii.String(name), &awsscheduler.CfnScheduleProps{
			Description:        jsii.String(description),
			GroupName:          s.clocks,
			ScheduleExpression: jsii.String(rate),
			FlexibleTimeWindow: &awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{
				Mode: jsii.String("FLEXIBLE"), MaximumWindowInMinutes: jsii.Number(flexible),
			},
			Target: &awsscheduler.CfnSchedule_TargetProperty{Arn: target, RoleArn: role.RoleArn(), Input: jsii.String(message)},
		})
	}
	every := func(name, rate string, flexible int, message, description string) {
		call(s.storage.Jobs.QueueArn(), name, rate, flexible, message, description)
	}
	every("ClockOfLostMessages", "rate(15 minutes)", 5, reviveJobs, "sends for the lost messages of jobs of the last day")
	every("ClockOfAllLostMessages", "rate(1 day)", 15, reviveAllJobs, "sends for the lost messages of all jobs")
	every("Clock", "rate(1 day)", 15, lookAtAll, "looks at all tables once a day")
	every("ClockOfViews", "rate(1 hour)", 15, lookAtViews, "looks at all views once an hour")
	call(asked.FunctionArn(), "ClockOfProbes", "rate(5 minutes)", 1, probe, "asks whether the stores and the keys of tokens can be reached")
}
