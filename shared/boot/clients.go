package boot

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/jobs"
	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables/vending"
)

// Clients are the clients of AWS that a program is built with, besides that of S3. [Open] calls those that the
// configuration names. A nil one is not in the program: a function without a right to a service is smaller and begins
// earlier without its client. None sends a request when it is opened.
type Clients struct {
	// AWS loads region, endpoints and credentials: cloud.FromEnv in functions, which is all that FromEnv needs, and
	// profiles.Load in other programs. It is called at most once, and only if the configuration names something of AWS.
	AWS func() (aws.Config, error)

	Records func(c aws.Config, table string, now func() time.Time) record.Store // dynamorecord.Open
	Jobs    func(c aws.Config, url string) jobs.Queue                           // sqsqueue.Open
	Keys    func(c aws.Config, arn, deployment string) secretbox.Keys           // kmskeys.Open
	Role    func(c aws.Config, role vending.Role) (vending.Vendor, error)       // stsvendor.Open
}

// of returns the configuration of the client of a service.
func (c Clients) of(s cloud.Service) (aws.Config, error) {
	cfg, err := c.AWS()
	if err != nil {
		return aws.Config{}, err
	}
	if cfg.Region == "" {
		return aws.Config{}, errors.New("no region of AWS is configured (AWS_REGION)")
	}
	return s.Client(cfg), nil
}

// AWS returns the configuration of AWS.
func (e *Env) AWS() (aws.Config, error) { return e.Clients.AWS() }
