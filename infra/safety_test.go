package main

import (
	"fmt"
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

// What is made to be thrown away has no protection, and all else has.
func TestStacksAreProtectedUnlessThrownAway(t *testing.T) {
	kept, _ := newStacks(t, nil)
	thrown, _ := newStacks(t, map[string]any{"throw-away": "true"})
	if !*kept.TerminationProtection() || *thrown.TerminationProtection() {
		t.Errorf("protection from termination: %v and %v", *kept.TerminationProtection(), *thrown.TerminationProtection())
	}
	storage := readTemplate(thrown.Stack)
	for _, kind := range []string{"AWS::Backup::BackupPlan", "AWS::KinesisFirehose::DeliveryStream"} {
		if len(storage.all(kind)) != 0 {
			t.Errorf("what is thrown away has a %s", kind)
		}
	}
	for id, resource := range storage.resources {
		if policy := resource.(map[string]any)["DeletionPolicy"]; policy == "Retain" {
			t.Errorf("%s is retained", id)
		}
	}
}

// Lines of the audit are copied from all logs that have some, to a bucket that nobody can empty.
func TestAuditHasItsOwnLog(t *testing.T) {
	for name, context := range variants {
		storage, service := synthesize(t, context)
		from := map[string]bool{}
		for id, p := range storage.all("AWS::Logs::SubscriptionFilter") {
			if p["FilterPattern"] != `{ $.msg = "audit" }` {
				t.Errorf("%s: %s selects %v", name, id, p["FilterPattern"])
			}
			from[strings.TrimSuffix(id, "Audit")] = true
		}
		for id := range service.all("AWS::Lambda::Function") {
			function, _, _ := strings.Cut(id, "Function")
			if from[function] == (function == "Worker") {
				t.Errorf("%s: lines of %s are copied: %v", name, function, from[function])
			}
		}
		if from["Containers"] != (context["image"] != nil) {
			t.Errorf("%s: lines of containers are copied: %v", name, from["Containers"])
		}
		for id, p := range storage.all("AWS::S3::Bucket") {
			lock := fmt.Sprint(p["ObjectLockConfiguration"])
			if strings.HasPrefix(id, "Audit") != strings.Contains(lock, "Mode:GOVERNANCE") || strings.HasPrefix(id, "Audit") && !strings.Contains(lock, "Days:365") {
				t.Errorf("%s: %s is locked by %s", name, id, lock)
			}
		}
	}
}

func TestBackupsCoverAndCopyTheState(t *testing.T) {
	storage, _ := synthesize(t, map[string]any{"backup-days": "7", "replica": "arn:aws:s3:::elsewhere", "audit-days": "0", "cors-origins": "https://a.example, https://b.example"})
	for _, p := range storage.all("AWS::Backup::BackupPlan") {
		if !strings.Contains(fmt.Sprint(p), "DeleteAfterDays:7") {
			t.Errorf("backups are kept as %v", p)
		}
	}
	for id, p := range storage.all("AWS::Backup::BackupSelection") {
		if text := fmt.Sprint(p); !strings.Contains(text, "Catalog") || !strings.Contains(text, "Records") {
			t.Errorf("%s selects %s", id, text)
		}
	}
	if len(storage.all("AWS::Backup::BackupSelection")) != 1 || len(storage.all("AWS::KinesisFirehose::DeliveryStream")) != 0 {
		t.Error("want backups and no bucket for the audit")
	}
	for id, p := range storage.all("AWS::S3::Bucket") {
		if !strings.Contains(fmt.Sprint(p["ReplicationConfiguration"]), "arn:aws:s3:::elsewhere") {
			t.Errorf("%s is copied by %v", id, p["ReplicationConfiguration"])
		}
	}
}

func TestBackupsAreLockedAndCopied(t *testing.T) {
	const vault = "arn:aws:backup:eu-west-1:123456789012:backup-vault:elsewhere"
	for lock, want := range map[string]string{"none": "<nil>", "governance": "map[MinRetentionDays:35]", "compliance": "map[ChangeableForDays:3 MinRetentionDays:35]"} {
		storage, _ := synthesize(t, map[string]any{"backup-lock": lock, "backup-copy": vault})
		for id, p := range storage.all("AWS::Backup::BackupVault") {
			if got := fmt.Sprint(p["LockConfiguration"]); got != want {
				t.Errorf("%s: %s has the lock %s, want %s", lock, id, got, want)
			}
		}
		for id, p := range storage.all("AWS::Backup::BackupPlan") {
			if text := fmt.Sprint(p); !strings.Contains(text, vault) || strings.Count(text, "DeleteAfterDays:35") != 2 {
				t.Errorf("%s copies by %s", id, text)
			}
		}
	}
}

func TestPagesOfOtherOriginsAreLetInByNameAlone(t *testing.T) {
	for _, context := range []map[string]any{nil, {"backup-days": "7", "replica": "arn:aws:s3:::elsewhere", "audit-days": "0", "cors-origins": "https://a.example, https://b.example"}} {
		_, service := synthesize(t, context)
		for id, p := range service.all("AWS::ApiGatewayV2::Api") {
			cors, _ := p["CorsConfiguration"].(map[string]any)
			if got := fmt.Sprint(cors["AllowOrigins"]); (got == "[https://a.example https://b.example]") != (context != nil) || context == nil && cors != nil {
				t.Errorf("%s lets in %v", id, cors)
			}
		}
	}
}

// Each route has the limit of its class, in both kinds of gateways.
func TestRequestsAreThrottledByTheClassOfTheirRoute(t *testing.T) {
	want := func(r operations.GatewayRoute) float64 {
		switch {
		case r.Function == "data" || r.Function == "query" || r.Function == "sql" || r.Function == "schema":
			return 500
		case r.Access == protocol.Write:
			return 250
		}
		return 1000
	}
	_, http := synthesize(t, nil)
	for _, p := range http.all("AWS::ApiGatewayV2::Stage") {
		set := p["RouteSettings"].(map[string]any)
		usual := p["DefaultRouteSettings"].(map[string]any)
		for _, r := range routes() {
			limit, ok := set[r.Method+" "+r.Path].(map[string]any)
			if !ok {
				limit = usual
			}
			if rate := want(r); limit["ThrottlingRateLimit"] != rate || limit["ThrottlingBurstLimit"] != 2*rate {
				t.Errorf("%s %s is limited to %v", r.Method, r.Path, limit)
			}
		}
	}
	_, rest := synthesize(t, variants["private"])
	limits := map[string]any{}
	for _, p := range rest.all("AWS::ApiGateway::Stage") {
		for _, setting := range p["MethodSettings"].([]any) {
			s := setting.(map[string]any)
			limits[fmt.Sprint(s["HttpMethod"], " ", strings.ReplaceAll(s["ResourcePath"].(string), "~1", "/"))] = s["ThrottlingRateLimit"]
			if s["LoggingLevel"] != "ERROR" {
				t.Errorf("%v does not log errors", s)
			}
		}
	}
	for _, r := range routes() {
		limit, ok := limits[r.Method+" /"+r.Path]
		if !ok {
			limit = limits["* /*"]
		}
		if !r.Slash && limit != want(r) {
			t.Errorf("REST: %s %s is limited to %v, want %v", r.Method, r.Path, limit, want(r))
		}
	}
}

// A deployment without a topic says so where nobody can miss it.
func TestAlarmsThatReachNobodyAreLoud(t *testing.T) {
	for _, topic := range []string{"", "arn:aws:sns:eu-central-1:123456789012:alarms"} {
		_, service := synthesize(t, map[string]any{"alarm-topic": topic})
		if (service.outputs["Alarms"] != nil) != (topic == "") {
			t.Errorf("with the topic %q the outputs are %v", topic, service.outputs)
		}
		for id, p := range service.all("AWS::CloudWatch::Alarm") {
			if (p["AlarmActions"] != nil) != (topic != "") {
				t.Errorf("with the topic %q, %s tells %v", topic, id, p["AlarmActions"])
			}
		}
	}
}
