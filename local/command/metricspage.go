package command

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A metricsPage has the values of a page of metrics that [load] needs.
type metricsPage struct {
	read       time.Time
	release    string
	gauges     map[string]float64 // values without labels
	operations map[string]operationMetrics
}

// operationMetrics are the counters of an operation.
type operationMetrics struct {
	failed  float64
	buckets []bucket // by bound
}

// A bucket counts the requests that took at most some seconds.
type bucket struct{ seconds, requests float64 }

// parseMetrics parses the text format of Prometheus, of which it takes what the server writes: one sample in a line, without
// times.
//
//	tiltyard_requests_total{operation="QueryTable",status="200",code=""} 2
func parseMetrics(text []byte) (metricsPage, error) {
	page := metricsPage{read: time.Now(), gauges: map[string]float64{}, operations: map[string]operationMetrics{}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		sample := strings.TrimSpace(string(line))
		if sample == "" || strings.HasPrefix(sample, "#") {
			continue
		}
		at := strings.LastIndexByte(sample, ' ')
		if at < 0 {
			return page, fmt.Errorf("line %d of the metrics has no value", number)
		}
		value, err := strconv.ParseFloat(sample[at+1:], 64)
		if err != nil {
			return page, fmt.Errorf("line %d of the metrics: %w", number, err)
		}
		name, labels, err := parseLabels(sample[:at])
		if err != nil {
			return page, fmt.Errorf("line %d of the metrics: %w", number, err)
		}
		if err := page.add(name, labels, value); err != nil {
			return page, fmt.Errorf("line %d of the metrics: %w", number, err)
		}
	}
	return page, nil
}

// parseLabels splits name{a="x",b="y"}.
func parseLabels(text string) (name string, labels map[string]string, err error) {
	name, rest, found := strings.Cut(strings.TrimSpace(text), "{")
	if !found {
		return name, nil, nil
	}
	labels = map[string]string{}
	for !strings.HasPrefix(rest, "}") {
		label, after, ok := strings.Cut(rest, "=")
		quoted, err := strconv.QuotedPrefix(after)
		if !ok || err != nil {
			return "", nil, fmt.Errorf("the labels of %s are not NAME=\"VALUE\"", name)
		}
		if labels[label], err = strconv.Unquote(quoted); err != nil {
			return "", nil, err
		}
		rest = strings.TrimPrefix(after[len(quoted):], ",")
	}
	return name, labels, nil
}

// add takes one sample.
func (p *metricsPage) add(name string, labels map[string]string, value float64) error {
	operation := p.operations[labels["operation"]]
	switch name {
	case "tiltyard_build_info":
		p.release = labels["version"]
		return nil
	case "tiltyard_requests_total":
		if status, err := strconv.Atoi(labels["status"]); err != nil || status >= 400 {
			operation.failed += value
		}
	case "tiltyard_request_duration_seconds_bucket":
		bound, err := strconv.ParseFloat(labels["le"], 64)
		if err != nil {
			return fmt.Errorf("le: %w", err)
		}
		operation.buckets = append(operation.buckets, bucket{bound, value})
	default:
		if labels == nil {
			p.gauges[name] = value
		}
		return nil
	}
	p.operations[labels["operation"]] = operation
	return nil
}

// count returns the number of requests: that of the last bucket, which has no bound.
func (m operationMetrics) count() float64 {
	if len(m.buckets) == 0 {
		return 0
	}
	return m.buckets[len(m.buckets)-1].requests
}

// quantile estimates the time in seconds that a part of the requests since earlier took at most. Within a bucket the times
// are taken as evenly spread; beyond the last bound they are that bound.
func (m operationMetrics) quantile(earlier operationMetrics, part float64) float64 {
	since := slices.Clone(m.buckets)
	for i := range since {
		if i < len(earlier.buckets) {
			since[i].requests -= earlier.buckets[i].requests
		}
	}
	if len(since) == 0 {
		return 0
	}
	rank := part * since[len(since)-1].requests
	var low bucket
	for _, high := range since {
		if high.requests >= rank {
			if math.IsInf(high.seconds, 1) || high.requests == low.requests {
				return low.seconds
			}
			return low.seconds + (high.seconds-low.seconds)*(rank-low.requests)/(high.requests-low.requests)
		}
		low = high
	}
	return low.seconds
}
