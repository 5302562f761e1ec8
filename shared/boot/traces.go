package boot

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"

	"tiltyard/shared/boot/traced"
	"tiltyard/shared/jobs"
	"tiltyard/shared/process/release"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

// openTraces returns the tracer, or nil if no collector is configured. It sends no request.
func openTraces(c Config, log *slog.Logger) *tracing.Tracer {
	if c.Traces == "" {
		return nil
	}
	return tracing.Open(tracing.Options{
		Collector: c.Traces, Headers: c.TracesHeaders, Share: c.TracesShare, Logger: log,
		Service: cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), "tiltyard"), Release: release.Version(), Function: os.Getenv(functionVariable),
	})
}

// functionVariable is an environment variable that Lambda sets for its functions.
const functionVariable = "AWS_LAMBDA_FUNCTION_NAME"

// tracedStore, tracedRecords and tracedQueue wrap their argument if traces are configured.
func tracedStore(c Config, root objectstore.Root) objectstore.Store {
	if c.Traces == "" {
		return root.Store
	}
	return traced.Store(root.Store, root.URI)
}

func tracedRecords(c Config, s record.Store) record.Store {
	if c.Traces == "" {
		return s
	}
	return traced.Records(s)
}

func tracedQueue(c Config, q jobs.Queue) jobs.Queue {
	if c.Traces == "" {
		return q
	}
	return traced.Queue(q)
}

// parseCollector accepts the URL of a collector. Its credentials are headers.
func parseCollector(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be the https:// or http:// URL of a collector, to which /v1/traces is added")
	}
	return text, nil
}

// parseShare parses the fraction of requests with a trace.
func parseShare(text string) (float64, error) {
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(share) || share < 0 || share > 1 {
		return 0, errors.New("must be a number from 0 to 1, such as 0.05")
	}
	return share, nil
}

// parseHeaders accepts headers in the form of OpenTelemetry. Its error contains none of them.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || strings.ContainsFunc(name, oddInName) || strings.ContainsFunc(value, oddInValue) {
			return nil, errors.New("must be NAME=VALUE, separated by commas, with percent-encoding")
		}
		headers[name] = value
	}
	return headers, nil
}

// oddInName and oddInValue report the characters that RFC 9110 does not allow in names and values of headers.
func oddInName(r rune) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(marks, r)
}

// oddInValue reports whether a character is not allowed in the value of an HTTP header.
func oddInValue(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
