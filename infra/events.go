package main

import (
	"regexp"
	"strings"

	"tiltyard/shared/events/outbox/forward"
)

var objectForm = regexp.MustCompile(`^s3://[a-z0-9.-]+/[A-Za-z0-9!_.'()/-]+$`)

// eventTarget reads the target to which events are forwarded.
func (r *reader) eventTarget(name string) string {
	text := r.text(name, "ARN of an SQS queue or of an event bus, or https://…", "")
	if text == "" {
		return ""
	}
	if _, err := forward.ParseAddress(text); err != nil || strings.HasPrefix(text, "http://") {
		r.fail(name, "must be the ARN of an SQS queue or of an event bus, or an https:// URL without a query")
	}
	return text
}

// checkEvents records an error for settings with which events cannot be forwarded.
func (r *reader) checkEvents(c Config) {
	at, err := forward.ParseAddress(c.EventTarget)
	if err != nil {
		r.forbid(c.EventKey != "", "event-key: needs a webhook as event-target")
		return
	}
	r.forbid(c.Settings["events"] == "", "event-target: needs events, the source of what is forwarded")
	r.forbid((at.Kind == forward.Webhook) != (c.EventKey != ""), "event-key, event-target: a webhook and its key need each other")
	r.forbid(at.Kind != forward.SQS && c.VPC == newVPC, "event-target: functions in a new network reach SQS only; take a queue, or an existing network with a way to the target")
}

// forwardEvents adds the configuration for forwarding events to the worker's environment.
func (s *Service) forwardEvents(env map[string]*string) {
	if s.config.EventTarget == "" {
		return
	}
	env["TILTYARD_EVENT_TARGET"] = &s.config.EventTarget
	if s.config.EventKey != "" {
		env["TILTYARD_EVENT_KEY"] = &s.config.EventKey
	}
}

// allowForwarding grants the rights that forwarding needs.
func (s *Service) allowForwarding(allow func(resources []*string, actions ...string)) {
	at, err := forward.ParseAddress(s.config.EventTarget)
	if err != nil {
		return // nothing is forwarded
	}
	switch at.Kind {
	case forward.SQS:
		allow([]*string{&at.Text}, "sqs:GetQueueUrl", "sqs:SendMessage")
	case forward.EventBridge:
		allow([]*string{&at.Text}, "events:PutEvents")
	default:
		allow([]*string{s.objectsARN(strings.TrimPrefix(s.config.EventKey, "s3://"))}, "s3:GetObject")
	}
}

// watchForwarding creates the alarm for a target that does not accept events.
func (s *Service) watchForwarding() {
	if s.config.EventTarget == "" {
		return
	}
	s.alarm("EventsNotForwarded", "the target of events does not take them; they wait in the log until event-retention ends",
		s.logged("worker", "EventsNotForwarded", forward.FailedMessage), 0)
}
