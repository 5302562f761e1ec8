package boot

import (
	"errors"
	"fmt"
	"net/url"

	"tiltyard/shared/jobs"
	"tiltyard/shared/storage/cloud"
)

// openJobs opens the queues of jobs and of heavy work, or returns nil for a queue that is not configured, or that the
// program has no client for. It sends no request.
func openJobs(c Config, clients Clients) (queue, heavy jobs.Queue, err error) {
	if c.Jobs == "" {
		if c.HeavyJobs != "" {
			return nil, nil, errors.New("heavy-jobs: needs jobs, the queue of all other work")
		}
		return nil, nil, nil
	}
	if clients.Jobs == nil {
		return nil, nil, nil
	}
	aws, err := clients.of(cloud.Service{Name: "SQS", What: "a queue of jobs in SQS", Attempt: cloud.UsualAttempt})
	if err != nil {
		return nil, nil, fmt.Errorf("jobs: %w", err)
	}
	if c.HeavyJobs != "" {
		heavy = tracedQueue(c, clients.Jobs(aws, c.HeavyJobs))
	}
	return tracedQueue(c, clients.Jobs(aws, c.Jobs)), heavy, nil
}

// parseJobs accepts the URL of an SQS queue.
func parseJobs(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(u.Path) < 2 || u.User != nil || u.RawQuery != "" {
		return "", errors.New("must be the URL of an SQS queue")
	}
	return text, nil
}

// parseSwitch accepts on and off.
func parseSwitch(text string) (bool, error) {
	switch text {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, errors.New("must be on or off")
}
