package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each state that an operator has to hear of has its alarm, with the limits of the options.
func TestAlarmsWatchWhatOperatorsMustHearOf(t *testing.T) {
	for name, context := range variants {
		_, service := synthesize(t, context)
		alarms := service.all("AWS::CloudWatch::Alarm")
		for id, want := range map[string]float64{
			"ServerErrors": 0.01, "Latency": 1000, "JobAge": 3600, "JobsGivenUp": 0, "JobsSetAside": 0, "WorkerDuration": 899_000,
			"RecordsReadsThrottled": 0, "RecordsWritesThrottled": 0, "NotReady": 0, "ClockErrors": 0, "BackupsFailed": 0, "AuditLate": 900, "WorkerThrottles": 0, "QueryErrors": 0,
		} {
			found := false
			for other, p := range alarms {
				if strings.HasPrefix(other, id+"Alarm") {
					found = true
					if p["Threshold"] != want || p["ComparisonOperator"] != "GreaterThanThreshold" {
						t.Errorf("%s: %s rings above %v, want %v", name, other, p["Threshold"], want)
					}
				}
			}
			if !found {
				t.Errorf("%s: there is no alarm %s", name, id)
			}
		}
	}
}

// Heavy work is watched if it has a queue, and backups and the audit if there are any.
func TestAlarmsWatchWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		context map[string]any
		alarm   string
		want    bool
	}{
		{variants["everything"], "HeavyJobAge", true}, {nil, "HeavyJobAge", false},
		{map[string]any{"audit-days": "0"}, "AuditLate", false}, {map[string]any{"backup-days": "0"}, "BackupsFailed", false},
	} {
		_, service := synthesize(t, c.context)
		found := false
		for id := range service.all("AWS::CloudWatch::Alarm") {
			found = found || strings.HasPrefix(id, c.alarm+"Alarm")
		}
		if found != c.want {
			t.Errorf("%v: the alarm %s is there: %t", c.context, c.alarm, found)
		}
	}
}

// A function is asked for its readiness in a form that it answers, and logs the message that the alarm waits for.
func TestReadinessIsAskedFor(t *testing.T) {
	source, err := os.ReadFile("../shared/http/httpapi/probe.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), `"`+notReadyMessage+`"`) {
		t.Errorf("no line of the log is %q", notReadyMessage)
	}
	for name, context := range variants {
		_, service := synthesize(t, context)
		schedule := service.all("AWS::Scheduler::Schedule")["ClockOfProbes"]
		target, _ := schedule["Target"].(map[string]any)
		if target["Input"] != probe || !strings.HasPrefix(reference(t, target["Arn"]), "Namespace") {
			t.Errorf("%s: got %v", name, schedule)
		}
		filtered := false
		for id, p := range service.all("AWS::Logs::MetricFilter") {
			if strings.HasPrefix(id, "NotReady") {
				filtered = p["FilterPattern"] == `"not ready"` && strings.Contains(fmt.Sprint(p["LogGroupName"]), "NamespaceLog")
			}
		}
		if !filtered {
			t.Errorf("%s: no filter finds the line", name)
		}
	}
}

// The dashboard asks for fields that lines of requests have, in the logs of all functions.
func TestDashboardQueriesLoggedFields(t *testing.T) {
	source, err := os.ReadFile("../shared/http/httpapi/log.go")
	if err != nil {
		t.Fatal(err)
	}
	var asked string
	for _, q := range queries {
		asked += strings.Join(q.lines, " ") + " "
	}
	for _, field := range regexp.MustCompile(`\b(msg|operation|code|status|duration_ms|storage_\w+)\b`).FindAllString(asked, -1) {
		if field != "msg" && !strings.Contains(string(source), `"`+field+`"`) {
			t.Errorf("no line has the field %s", field)
		}
	}
	if !strings.Contains(string(source), `level, "request", 0)`) {
		t.Error("no line has the message request")
	}
	for name, context := range variants {
		_, service := synthesize(t, context)
		for _, p := range service.all("AWS::CloudWatch::Dashboard") {
			body := fmt.Sprint(p["DashboardBody"])
			for _, title := range []string{
				"Latency by operation", "Errors by code", "Cold starts", "Throttles", "Age of the oldest job", "Jobs set aside",
				"Records: capacity", "Requests to storage", "Megabytes of storage", "Estimate: dollars",
			} {
				if !strings.Contains(body, title) {
					t.Errorf("%s: the dashboard lacks %s", name, title)
				}
			}
			for id := range service.all("AWS::Lambda::Function") {
				function, _, _ := strings.Cut(id, "Function")
				if !strings.Contains(body, "FILL("+strings.ToLower(function)+"Time, 0)") || strings.Count(body, "Ref"+function+"Log") == 0 {
					t.Errorf("%s: the dashboard leaves %s out", name, function)
				}
			}
		}
	}
}

// The page of costs counts the alarms of a deployment without options.
func TestCostsPageCountsTheAlarms(t *testing.T) {
	page, err := os.ReadFile("COSTS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, service := synthesize(t, nil)
	alarms := len(service.all("AWS::CloudWatch::Alarm"))
	if want := fmt.Sprintf("alarms: %d ", alarms); !strings.Contains(string(page), want) {
		t.Errorf("the page has not %q", want)
	}
}
