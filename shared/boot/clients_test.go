package boot

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tiltyard/shared/catalog/secretbox/kmskeys"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/cloud/profiles"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables/vending/stsvendor"
)

var (
	inEnv       = Clients{AWS: cloud.FromEnv}
	everyClient = Clients{AWS: profiles.Load, Records: dynamorecord.Open, Jobs: sqsqueue.Open, Keys: kmskeys.Open, Role: stsvendor.Open}
)

func TestClientsAreOpenedIfTheyAreThere(t *testing.T) {
	isolateAWS(t)
	t.Setenv("AWS_REGION", "eu-central-1")
	named := Config{Jobs: "https://sqs/1/jobs", HeavyJobs: "https://sqs/1/heavy", VendRole: "arn:aws:iam::123456789012:role/vend"}
	queue, heavy, err := openJobs(named, inEnv)
	if queue != nil || heavy != nil || err != nil {
		t.Errorf("without a client: got queues %v and %v, %v", queue, heavy, err)
	}
	if vendor, err := openVendor(named, inEnv, nil); vendor != nil || err != nil {
		t.Errorf("without a client: got vendor %v, %v", vendor, err)
	}
	var urls []string
	clients := inEnv
	clients.Jobs = func(c aws.Config, url string) jobs.Queue {
		if c.Region != "eu-central-1" || c.Retryer == nil {
			t.Errorf("got a configuration for %q, retryer: %t", c.Region, c.Retryer != nil)
		}
		urls = append(urls, url)
		return new(memqueue.Queue)
	}
	queue, heavy, err = openJobs(named, clients)
	if queue == nil || heavy == nil || err != nil || len(urls) != 2 {
		t.Errorf("with a client: got queues %v and %v at %q, %v", queue, heavy, urls, err)
	}
}

func TestClientsShareOneConfiguration(t *testing.T) {
	isolateAWS(t)
	loads := 0
	clients := Clients{AWS: func() (aws.Config, error) {
		loads++
		return aws.Config{Region: "eu-central-1"}, nil
	}}
	_, err := Open(Config{Root: "s3://lake", APIKeys: "s3://keys/k", Policies: "s3://keys/p", AllowLocations: []string{"s3://other"}}, clients, t.Output())
	if err != nil || loads != 1 {
		t.Errorf("loaded %d times, %v; want once", loads, err)
	}
}
