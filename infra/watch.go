package main

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
)

// httpTraffic returns the metrics of an HTTP API.
func httpTraffic(api awsapigatewayv2.CfnApi) traffic {
	metric := func(name, statistic string) awscloudwatch.IMetric {
		return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
			Namespace: jsii.String("AWS/ApiGateway"), MetricName: &name, Statistic: &statistic,
			DimensionsMap: &map[string]*string{"ApiId": api.Ref()},
		})
	}
	return traffic{
		requests:     metric("Count", "Sum"),
		serverErrors: metric("5xx", "Sum"),
		errorRate:    metric("5xx", "Average"),
		clientErrors: metric("4xx", "Sum"),
		latency:      metric("Latency", "p95"),
	}
}

// watch creates the alarms and the dashboard. An alarm needs the attention of an operator: a
// function failed (an error response to a client is not a failure), the service responds with
// server errors or late, jobs wait too long, are cut off, or were set aside, or backups, the audit or
// the schedules stand still.
func (s *Service) watch(t traffic) {
	s.alarm("ServerErrors", "more than one in a hundred requests met an error of the service", t.errorRate, 0.01)
	s.alarm("Latency", "one in twenty requests took longer than alarm-latency", t.latency, float64(s.config.AlarmLatency))
	s.alarm("JobAge", "a job has waited for longer than alarm-job-age",
		s.storage.Jobs.MetricApproximateAgeOfOldestMessage(nil), float64(s.config.AlarmJobAge))
	s.alarm("JobsGivenUp", "a message was delivered too often, and the worker cannot set its job aside either",
		s.storage.DeadLetters.MetricApproximateNumberOfMessagesVisible(nil), 0)
	setAside := s.jobsSetAside()
	s.alarm("JobsSetAside", "a job ended the process of its worker again and again, or no worker could make anything of it; "+
		"it waits, failed, until a user resumes it", setAside, 0)
	s.alarm("WorkerDuration", "a worker did not hand its job over in time, so Lambda cut it off",
		s.Functions["worker"].MetricDuration(&awscloudwatch.MetricOptions{Statistic: jsii.String("Maximum")}), (jobMinutes*60-1)*1000)
	reads, writes := s.recordsThrottled()
	s.alarm("RecordsReadsThrottled", "the table of records refused reads because there were too many", reads, 0)
	s.alarm("RecordsWritesThrottled", "the table of records refused writes because there were too many", writes, 0)
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		f := s.Functions[name]
		s.alarm(title(name)+"Errors", "functions/"+name+" ended without an answer", f.MetricErrors(nil), 0)
		s.alarm(title(name)+"Throttles", "functions/"+name+" was called more often than the account allows", f.MetricThrottles(nil), 0)
	}
	s.alarm("NotReady", "the stores or the keys of tokens could not be reached, by a request to /readyz every five minutes", s.logged(probed, "NotReady", notReadyMessage), 0)
	s.alarm("ClockErrors", "a schedule could not send its message, so lost messages, tables and views are not looked at",
		s.metric("AWS/Scheduler", "TargetErrorCount", "Sum", "ScheduleGroup", s.clocks), 0)
	if s.storage.HeavyJobs != nil {
		s.alarm("HeavyJobAge", "heavy work has waited for longer than alarm-job-age",
			s.storage.HeavyJobs.MetricApproximateAgeOfOldestMessage(nil), float64(s.config.AlarmJobAge))
	}
	if s.storage.Vault != nil {
		s.alarm("BackupsFailed", "a backup of the bucket or of the records failed",
			s.metric("AWS/Backup", "NumberOfBackupJobsFailed", "Sum", "BackupVaultName", s.storage.Vault), 0)
	}
	if s.storage.Audit != nil {
		s.alarm("AuditLate", "lines of the audit have not reached their bucket for a quarter of an hour",
			s.metric("AWS/Firehose", "DeliveryToS3.DataFreshness", "Maximum", "DeliveryStreamName", s.storage.Audit), auditSeconds)
	}
	s.watchForwarding()
	s.newDashboard(t, setAside)
}

// auditSeconds is the age at which a line of the audit is late. Firehose gathers lines for a minute.
const auditSeconds = 15 * 60

// metric returns a metric of a service of AWS with one dimension.
func (s *Service) metric(namespace, name, statistic, dimension string, value *string) awscloudwatch.IMetric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: &namespace, MetricName: &name, Statistic: &statistic, DimensionsMap: &map[string]*string{dimension: value},
	})
}

// notReadyMessage is the log message of a readiness check that failed (shared/http/httpapi/probe.go).
const notReadyMessage = "not ready"

// logged returns the number of lines with a message in the log of a function.
func (s *Service) logged(function, name, message string) awscloudwatch.IMetric {
	filter := awslogs.NewMetricFilter(s.Stack, jsii.String(name), &awslogs.MetricFilterProps{
		LogGroup: s.storage.Logs[function], FilterPattern: awslogs.FilterPattern_Literal(jsii.String(`"` + message + `"`)),
		MetricNamespace: jsii.String("Tiltyard/" + s.config.Stage), MetricName: &name, MetricValue: jsii.String("1"),
	})
	return filter.Metric(&awscloudwatch.MetricOptions{Statistic: jsii.String("Sum")})
}

// setAsideMessage is the log message of workers for a job that was set aside
// (shared/jobs/worker.go).
const setAsideMessage = "a job is set aside"

// jobsSetAside returns the number of jobs that were set aside, from the logs of the workers. The
// queue cannot count them, because it has deleted their messages.
func (s *Service) jobsSetAside() awscloudwatch.IMetric {
	var metric awscloudwatch.IMetric
	for _, name := range s.workers {
		filter := awslogs.NewMetricFilter(s.Stack, jsii.String(title(name)+"JobsSetAside"), &awslogs.MetricFilterProps{
			LogGroup: s.storage.Logs[name], FilterPattern: awslogs.FilterPattern_Literal(jsii.String(`"` + setAsideMessage + `"`)),
			MetricNamespace: jsii.String("Tiltyard/" + s.config.Stage), MetricName: jsii.String("JobsSetAside"),
			MetricValue: jsii.String("1"), DefaultValue: jsii.Number(0),
		})
		metric = filter.Metric(&awscloudwatch.MetricOptions{Statistic: jsii.String("Sum")})
	}
	return metric
}

// alarm creates an alarm that fires if a metric stays above a number for five minutes.
func (s *Service) alarm(id, description string, metric awscloudwatch.IMetric, above float64) {
	alarm := awscloudwatch.NewAlarm(s.Stack, jsii.String(id+"Alarm"), &awscloudwatch.AlarmProps{
		AlarmDescription: &description, Metric: metric, Threshold: &above,
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_THRESHOLD,
		EvaluationPeriods:  jsii.Number(1),
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
	if s.config.AlarmTopic == "" {
		return
	}
	topic := awssns.Topic_FromTopicArn(s.Stack, jsii.String(id+"Topic"), &s.config.AlarmTopic)
	alarm.AddAlarmAction(awscloudwatchactions.NewSnsAction(topic))
}
