package forward

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"sync"
)

// Kinds of targets.
const (
	SQS         = "SQS"
	EventBridge = "EventBridge"
	Webhook     = "webhook"
)

// The forms of ARNs. Each is compiled at its first use: together they would take half a millisecond of each start.
var (
	queueForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^arn:aws[a-z-]*:sqs:([a-z0-9-]+):([0-9]{12}):([A-Za-z0-9_-]{1,80}(?:\.fifo)?)$`)
	})
	busForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^arn:aws[a-z-]*:events:([a-z0-9-]+):([0-9]{12}):event-bus/([A-Za-z0-9._/-]{1,256})$`)
	})
)

// An Address is the parsed address of a target.
type Address struct {
	Kind string
	Text string // an ARN or a URL

	Region, Account, Name string // of a queue or a bus
}

// ParseAddress parses the ARN of an SQS queue or an event bus, or the URL of a webhook.
func ParseAddress(text string) (Address, error) {
	if m := queueForm().FindStringSubmatch(text); m != nil {
		return Address{Kind: SQS, Text: text, Region: m[1], Account: m[2], Name: m[3]}, nil
	}
	if m := busForm().FindStringSubmatch(text); m != nil {
		return Address{Kind: EventBridge, Text: text, Region: m[1], Account: m[2], Name: m[3]}, nil
	}
	u, err := url.Parse(text)
	if err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && (u.Scheme == "https" || isLocal(u)) {
		return Address{Kind: Webhook, Text: text}, nil
	}
	return Address{}, errors.New("must be the ARN of an SQS queue or of an event bus, or an https:// URL without a query; http:// is for this machine only")
}

// isLocal reports whether a URL is plain HTTP to this machine.
func isLocal(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
