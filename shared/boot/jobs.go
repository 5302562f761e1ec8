package boot

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/storage/cloud"
)

// openJobs opens the queues of jobs and of heavy work, or returns nil for a queue that is not configured. It sends no request.
// Region, endpoint and credentials come from the environment.
func openJobs(c Config) (queue, heavy jobs.Queue, err error) {
	if c.Jobs == "" {
		if c.HeavyJobs != "" {
			return nil, nil, errors.New("heavy-jobs: needs jobs, the queue of all other work")
		}
		return nil, nil, nil
	}
	aws, err := cloud.Load()
	if err != nil {
		return nil, nil, fmt.Errorf("jobs: %w", err)
	}
	if aws.Region == "" {
		return nil, nil, errors.New("jobs: no region of AWS is configured (AWS_REGION)")
	}
	service := cloud.Service{Name: "SQS", What: "a queue of jobs in SQS", Attempt: cloud.UsualAttempt}
	client := sqs.NewFromConfig(service.Client(aws))
	if c.HeavyJobs != "" {
		heavy = tracedQueue(c, sqsqueue.Open(client, c.HeavyJobs))
	}
	return tracedQueue(c, sqsqueue.Open(client, c.Jobs)), heavy, nil
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
