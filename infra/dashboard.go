package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

// queries are widgets over the log lines of requests and of Lambda. CloudWatch queries the logs
// only when the dashboard is shown, so no operation needs a metric of its own, which would be
// billed each month.
var queries = []struct {
	title string
	view  awscloudwatch.LogQueryVisualizationType
	lines []string
}{
	{"Latency by operation, in milliseconds", awscloudwatch.LogQueryVisualizationType_TABLE, []string{
		`filter msg = "request"`,
		`stats count(*) as requests, pct(duration_ms, 50) as p50, pct(duration_ms, 95) as p95, pct(duration_ms, 99) as p99 by operation`,
		`sort requests desc`,
	}},
	{"Errors by code", awscloudwatch.LogQueryVisualizationType_TABLE, []string{
		`filter msg = "request" and ispresent(code)`,
		`stats count(*) as requests by code, status, operation`,
		`sort requests desc`,
	}},
	{"Cold starts, and their milliseconds", awscloudwatch.LogQueryVisualizationType_LINE, []string{
		`filter @type = "REPORT" and ispresent(@initDuration)`,
		`stats count(*) as starts, pct(@initDuration, 95) as p95 by bin(5m)`,
	}},
	{"Requests to storage", awscloudwatch.LogQueryVisualizationType_LINE, []string{
		`filter msg = "request"`,
		`stats sum(storage_reads) as reads, sum(storage_writes) as writes by bin(5m)`,
	}},
	{"Megabytes of storage", awscloudwatch.LogQueryVisualizationType_LINE, []string{
		`filter msg = "request"`,
		`stats sum(storage_bytes_read) / 1000000 as read, sum(storage_bytes_written) / 1000000 as written by bin(5m)`,
	}},
	{"Estimate: dollars an hour for requests to storage", awscloudwatch.LogQueryVisualizationType_LINE, []string{
		`filter msg = "request"`,
		fmt.Sprintf(`stats sum(storage_reads) * %.10f + sum(storage_writes) * %.10f as dollars by bin(1h)`, prices()["s3.read"]/1e6, prices()["s3.write"]/1e6),
	}},
}

// newDashboard creates the dashboard of the stage.
func (s *Service) newDashboard(t traffic, setAside awscloudwatch.IMetric) {
	dashboard := awscloudwatch.NewDashboard(s.Stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: s.StackName(),
	})
	var calls, errors, durations, throttles []awscloudwatch.IMetric
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		f := s.Functions[name]
		calls = append(calls, f.MetricInvocations(nil))
		errors = append(errors, f.MetricErrors(nil))
		durations = append(durations, f.MetricDuration(&awscloudwatch.MetricOptions{Statistic: jsii.String("p95")}))
		throttles = append(throttles, f.MetricThrottles(nil))
	}
	records := s.storage.Records
	throttledReads, throttledWrites := s.recordsThrottled()
	dashboard.AddWidgets(graph("Requests", t.requests, t.clientErrors, t.serverErrors), graph("Latency (p95)", t.latency))
	dashboard.AddWidgets(s.query(0), s.query(1))
	dashboard.AddWidgets(graph("Calls", calls...), graph("Duration (p95)", durations...))
	dashboard.AddWidgets(graph("Errors", errors...), graph("Throttles", throttles...))
	dashboard.AddWidgets(s.query(2), graph("Jobs set aside", setAside))
	dashboard.AddWidgets(
		graph("Jobs waiting", s.storage.Jobs.MetricApproximateNumberOfMessagesVisible(nil),
			s.storage.DeadLetters.MetricApproximateNumberOfMessagesVisible(nil)),
		graph("Age of the oldest job", s.storage.Jobs.MetricApproximateAgeOfOldestMessage(nil)))
	dashboard.AddWidgets(
		graph("Records: capacity", records.MetricConsumedReadCapacityUnits(nil), records.MetricConsumedWriteCapacityUnits(nil)),
		graph("Records: throttled", throttledReads, throttledWrites))
	dashboard.AddWidgets(s.query(3), s.query(4))
	dashboard.AddWidgets(graph("Estimate: dollars an hour for all else", s.hourlyCost(t)), s.query(5))
}

// query returns the widget of queries[i] over the logs of all functions and of the containers.
func (s *Service) query(i int) awscloudwatch.IWidget {
	var names []*string
	for _, name := range slices.Sorted(maps.Keys(s.storage.Logs)) {
		if name != "gateway" {
			names = append(names, s.storage.Logs[name].LogGroupName())
		}
	}
	lines := jsii.Strings(queries[i].lines...)
	return awscloudwatch.NewLogQueryWidget(&awscloudwatch.LogQueryWidgetProps{
		Title: &queries[i].title, View: queries[i].view, QueryLines: lines, LogGroupNames: &names, Width: jsii.Number(12),
	})
}

// recordsThrottled returns the numbers of reads and of writes that the table throttled.
func (s *Service) recordsThrottled() (reads, writes awscloudwatch.IMetric) {
	sum := &awscloudwatch.MetricOptions{Statistic: jsii.String("Sum")}
	return s.storage.Records.Metric(jsii.String("ReadThrottleEvents"), sum), s.storage.Records.Metric(jsii.String("WriteThrottleEvents"), sum)
}

// hourlyCost estimates the cost per hour of the gateway, the functions and the records, by list
// prices. It excludes costs billed by the month or by the gigabyte.
func (s *Service) hourlyCost(t traffic) awscloudwatch.IMetric {
	price, hour := prices(), awscdk.Duration_Hours(jsii.Number(1))
	sum := &awscloudwatch.MetricOptions{Statistic: jsii.String("Sum"), Period: hour}
	gateway := price["gateway.http"]
	if s.config.Gateway == "rest" {
		gateway = price["gateway.rest"]
	}
	used := map[string]awscloudwatch.IMetric{
		"requests": t.requests,
		"reads":    s.storage.Records.MetricConsumedReadCapacityUnits(sum),
		"writes":   s.storage.Records.MetricConsumedWriteCapacityUnits(sum),
	}
	terms := []string{
		fmt.Sprintf("FILL(requests, 0) * %.10f", gateway/1e6),
		fmt.Sprintf("FILL(reads, 0) * %.10f", price["dynamodb.read"]/1e6),
		fmt.Sprintf("FILL(writes, 0) * %.10f", price["dynamodb.write"]/1e6),
	}
	for _, name := range slices.Sorted(maps.Keys(s.Functions)) {
		used[name+"Calls"], used[name+"Time"] = s.Functions[name].MetricInvocations(sum), s.Functions[name].MetricDuration(sum)
		gigabytes := float64(s.memory(functions[name])) / 1024
		terms = append(terms, fmt.Sprintf("FILL(%sCalls, 0) * %.10f + FILL(%sTime, 0) * %.14f",
			name, price["lambda.call"]/1e6, name, price["lambda.compute"]/1000*gigabytes))
	}
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(strings.Join(terms, " + ")), Label: jsii.String("dollars"), Period: hour, UsingMetrics: &used,
	})
}

// graph returns a widget with a graph of metrics.
func graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: &title, Left: &metrics, Width: jsii.Number(12),
	})
}
