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
			"ServerErrors": 0.01, "Latency": 5000, "JobAge": 3600, "JobsGivenUp": 0, "JobsSetAside": 0, "WorkerDuration": 899_000,
			"RecordsReadsThrottled": 0, "RecordsWritesThrottled": 0, "WorkerThrottles": 0, "QueryErrors": 0,
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
