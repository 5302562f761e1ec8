package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/jsii-runtime-go"
)

// lookAtAll is the message that makes a worker check all tables for maintenance: a message
// of package job with a kind and no table.
const lookAtAll = `{"kind":"maintain"}`

// lookDaily has all tables checked once a day, including those that are not written to.
func (s *Service) lookDaily() {
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
	awsscheduler.NewCfnSchedule(s.Stack, jsii.String("Clock"), &awsscheduler.CfnScheduleProps{
		Description:        jsii.String("looks at all tables once a day"),
		ScheduleExpression: jsii.String("rate(1 day)"),
		FlexibleTimeWindow: &awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{
			Mode: jsii.String("FLEXIBLE"), MaximumWindowInMinutes: jsii.Number(60),
		},
		Target: &awsscheduler.CfnSchedule_TargetProperty{
			Arn: s.storage.Jobs.QueueArn(), RoleArn: role.RoleArn(), Input: jsii.String(lookAtAll),
		},
	})
}
