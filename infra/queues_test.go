package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestWorkerReportsWhatFailed(t *testing.T) {
	_, service := synthesize(t, nil)
	sources := service.all("AWS::Lambda::EventSourceMapping")
	for id, p := range sources {
		if !slices.Equal(texts(p["FunctionResponseTypes"]), []string{"ReportBatchItemFailures"}) || !strings.HasPrefix(reference(t, p["FunctionName"]), "Worker") {
			t.Errorf("%s: %v", id, p)
		}
	}
	if len(sources) != 2 {
		t.Errorf("%d sources of events, want the queue and that of what it gives up", len(sources))
	}
}

// The worker tells the queue that it lives; it is the event source that wants messages to be
// hidden for as long as the function may run, and refuses a queue that does not.
func TestQueuesHideMessagesAsTheWorkerNeeds(t *testing.T) {
	storage, _ := synthesize(t, nil)
	queues := storage.all("AWS::SQS::Queue")
	for id, p := range queues {
		if p["VisibilityTimeout"] != float64((jobMinutes+1)*60) {
			t.Errorf("%s hides messages for %v s", id, p["VisibilityTimeout"])
		}
		redrive, _ := p["RedrivePolicy"].(map[string]any)
		if given := strings.HasPrefix(id, "Jobs"); given != (redrive["maxReceiveCount"] == 10.0) {
			t.Errorf("%s gives up messages by %v", id, redrive)
		}
	}
	if len(queues) != 2 {
		t.Errorf("%d queues, want 2", len(queues))
	}
}

// Workers tell of jobs that they have set aside in their logs alone, in words that the alarm
// waits for.
func TestJobsThatAreSetAsideRaiseAnAlarm(t *testing.T) {
	_, service := synthesize(t, variants["everything"])
	source, err := os.ReadFile("../shared/jobs/worker.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), `Logger.ErrorContext(ctx, "`+setAsideMessage+`"`) {
		t.Errorf("workers do not log %q", setAsideMessage)
	}
	var logs []string
	names := map[any]bool{}
	for id, p := range service.all("AWS::Logs::MetricFilter") {
		if !strings.Contains(id, "JobsSetAside") {
			continue
		}
		if p["FilterPattern"] != `"`+setAsideMessage+`"` {
			t.Errorf("%s waits for %v", id, p["FilterPattern"])
		}
		logs = append(logs, fmt.Sprint(p["LogGroupName"]))
		names[p["MetricTransformations"].([]any)[0].(map[string]any)["MetricName"]] = true
	}
	if slices.Sort(logs); len(logs) != 3 || !strings.Contains(logs[0], "ContainersLog") || !strings.Contains(logs[1], "HeavyLog") || !strings.Contains(logs[2], "WorkerLog") {
		t.Errorf("it waits in the logs %v, want those of the containers, of heavy work and of the worker", logs)
	}
	for _, p := range service.all("AWS::CloudWatch::Alarm") {
		if names[p["MetricName"]] && p["Threshold"] == 0.0 && p["ComparisonOperator"] == "GreaterThanThreshold" && p["Statistic"] == "Sum" {
			return
		}
	}
	t.Errorf("no alarm rings for %v", names)
}

// The messages of the clock are those that workers know, and lost messages of jobs are missed within an hour.
func TestClockSendsMessagesThatWorkersKnow(t *testing.T) {
	_, service := synthesize(t, nil)
	var sources []byte
	for _, path := range []string{"../shared/jobs/revive.go", "../shared/work/sweep/sweep.go"} {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, source...)
	}
	rates := map[string]string{}
	for id, p := range service.all("AWS::Scheduler::Schedule") {
		if id == "ClockOfProbes" {
			continue // TestReadinessIsAskedFor
		}
		var message struct{ Kind string }
		if err := json.Unmarshal([]byte(p["Target"].(map[string]any)["Input"].(string)), &message); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if !strings.Contains(string(sources), `= "`+message.Kind+`"`) {
			t.Errorf("%s sends %q, which no worker knows", id, message.Kind)
		}
		rates[message.Kind], _ = p["ScheduleExpression"].(string)
	}
	if rates["revive"] != "rate(15 minutes)" || rates["revive_all"] != "rate(1 day)" {
		t.Errorf("lost messages are missed at %v", rates)
	}
}
