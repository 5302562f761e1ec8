package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Heavy work has a queue that only its workers take messages from, and tasks only as long as there is some.
func TestHeavyWorkIsScaledFromZero(t *testing.T) {
	storage, service := synthesize(t, map[string]any{"job-image": "example.com/tiltyard:1", "job-tasks": "3", "executors": "a=lambda:arn:aws:lambda:eu-central-1:123456789012:function:run"})
	for id, p := range storage.all("AWS::SQS::Queue") {
		if !strings.HasPrefix(id, "HeavyJobs") {
			continue
		}
		redrive, _ := p["RedrivePolicy"].(map[string]any)
		if p["VisibilityTimeout"] != 180.0 || redrive["maxReceiveCount"] != 10.0 {
			t.Errorf("%s hides messages for %v s and gives them up by %v", id, p["VisibilityTimeout"], redrive)
		}
	}
	if sources := service.all("AWS::Lambda::EventSourceMapping"); len(sources) != 2 {
		t.Errorf("%d sources of events of functions, want the queue and that of what is given up", len(sources))
	}

	wants := map[string][]string{
		"Worker": {"sqs:SendMessage"},
		"Heavy":  {"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:SendMessage"},
	}
	got := map[string][]string{}
	for id, p := range service.all("AWS::IAM::Policy") {
		name, _, _ := strings.Cut(id, "Role")
		for _, s := range statements(p["PolicyDocument"]) {
			named := false
			walk(s["Resource"], func(v map[string]any) {
				for _, value := range v {
					text, _ := value.(string)
					named = named || strings.Contains(text, "HeavyJobs")
				}
			})
			if named {
				got[name] = append(got[name], texts(s["Action"])...)
			}
		}
	}
	for _, actions := range got {
		slices.Sort(actions)
	}
	if !maps.EqualFunc(got, wants, slices.Equal) {
		t.Errorf("the queue of heavy work is for %v, want %v", got, wants)
	}
	told := slices.Sorted(maps.Keys(withVariable(service, "TILTYARD_HEAVY_JOBS")))
	if !slices.Equal(told, []string{"worker"}) {
		t.Errorf("the functions %v know of it", told)
	}

	for id, p := range service.all("AWS::ECS::Service") {
		if p["DesiredCount"] != 0.0 {
			t.Errorf("%s begins with %v tasks", id, p["DesiredCount"])
		}
	}
	for id, p := range service.all("AWS::ApplicationAutoScaling::ScalableTarget") {
		if p["MinCapacity"] != 0.0 || p["MaxCapacity"] != 3.0 {
			t.Errorf("%s has %v to %v tasks", id, p["MinCapacity"], p["MaxCapacity"])
		}
	}
	for _, p := range service.all("AWS::ECS::TaskDefinition") {
		container := p["ContainerDefinitions"].([]any)[0].(map[string]any)
		if !slices.Equal(texts(container["EntryPoint"]), []string{"/tiltyard"}) || !slices.Equal(texts(container["Command"]), []string{"work"}) {
			t.Errorf("a task runs %v %v", container["EntryPoint"], container["Command"])
		}
	}
	scaled := map[string]string{} // policy by alarm
	for id, p := range service.all("AWS::CloudWatch::Alarm") {
		if strings.HasPrefix(id, "HeavyJobs") {
			scaled[id[:len("HeavyJobsWait")]] = reference(t, p["AlarmActions"].([]any)[0])[:len("NoHeavyTasks")]
		}
	}
	if !maps.Equal(scaled, map[string]string{"HeavyJobsWait": "MoreHeavyTas", "HeavyJobsDone": "NoHeavyTasks"}) {
		t.Errorf("alarms scale by %v", scaled)
	}
	for id, p := range service.all("AWS::ApplicationAutoScaling::ScalingPolicy") {
		steps := p["StepScalingPolicyConfiguration"].(map[string]any)
		step := steps["StepAdjustments"].([]any)[0].(map[string]any)
		more := strings.HasPrefix(id, "MoreHeavyTasks") && steps["AdjustmentType"] == "ChangeInCapacity" && step["ScalingAdjustment"] == 1.0
		none := strings.HasPrefix(id, "NoHeavyTasks") && steps["AdjustmentType"] == "ExactCapacity" && step["ScalingAdjustment"] == 0.0
		if !more && !none {
			t.Errorf("%s: %v", id, steps)
		}
	}
}

// withVariable returns the functions that have a variable.
func withVariable(service template, name string) map[string]any {
	found := map[string]any{}
	for function, variables := range environments(service) {
		if variables[name] != nil {
			found[function] = variables[name]
		}
	}
	return found
}

// Without an image nothing of it is there.
func TestHeavyWorkCostsNothingUnlessAskedFor(t *testing.T) {
	storage, service := synthesize(t, nil)
	for _, kind := range []string{"AWS::ECS::Service", "AWS::EC2::VPC", "AWS::ApplicationAutoScaling::ScalableTarget"} {
		if found := service.all(kind); len(found) > 0 {
			t.Errorf("there are %v", found)
		}
	}
	if len(storage.all("AWS::SQS::Queue")) != 2 {
		t.Error("there is a queue for it")
	}
}

// Drivers reach Flight SQL of the containers by TLS, through the load balancer.
func TestContainersServeSQL(t *testing.T) {
	_, service := synthesize(t, variants["everything"])
	number := func(v any) string { return fmt.Sprint(v) }
	var group string
	for id, p := range service.all("AWS::ElasticLoadBalancingV2::TargetGroup") {
		if p["ProtocolVersion"] == "GRPC" && number(p["Port"]) == "10025" && p["HealthCheckPath"] == "/grpc.health.v1.Health/Check" {
			group = id
		}
	}
	reached := false
	for _, p := range service.all("AWS::ElasticLoadBalancingV2::Listener") {
		action := p["DefaultActions"].([]any)[0].(map[string]any)
		target, _ := action["TargetGroupArn"].(map[string]any)
		reached = reached || target["Ref"] == group && p["Protocol"] == "HTTPS" && number(p["Port"]) == "10025"
	}
	if group == "" || !reached {
		t.Errorf("target group %q, reached by a listener with TLS: %v", group, reached)
	}
	for id, p := range service.all("AWS::ECS::TaskDefinition") {
		if !strings.HasPrefix(id, "ContainersTaskDef") {
			continue
		}
		var ports []string
		for _, mapping := range p["ContainerDefinitions"].([]any)[0].(map[string]any)["PortMappings"].([]any) {
			ports = append(ports, number(mapping.(map[string]any)["ContainerPort"]))
		}
		if !slices.Equal(ports, []string{"10024", "10025"}) {
			t.Errorf("the container has the ports %v", ports)
		}
	}
}

// The container service works on jobs, and may take their messages.
func TestContainersReceiveMessages(t *testing.T) {
	_, service := synthesize(t, variants["everything"])
	for id, p := range service.all("AWS::IAM::Policy") {
		for _, s := range statements(p["PolicyDocument"]) {
			if strings.HasPrefix(id, "ContainersRole") && slices.Contains(texts(s["Action"]), "sqs:ReceiveMessage") {
				return
			}
		}
	}
	t.Error("its role does not allow that")
}
