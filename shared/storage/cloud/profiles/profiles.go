// Package profiles loads the configuration of AWS on the machines of people and in containers: the environment, the files
// of the AWS command line, and all sources of credentials that these name, such as SSO, roles and the machine itself. A
// program contains the clients of all these services, so functions use [cloud.FromEnv] instead.
package profiles

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"tiltyard/shared/storage/cloud"
)

// Load reads the environment and the files of the AWS command line. Only the first request fetches credentials.
func Load() (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(context.Background(), config.WithHTTPClient(cloud.Dialing()))
	if err != nil {
		return aws.Config{}, fmt.Errorf("configuration of AWS: %w", err)
	}
	cfg.HTTPClient = cloud.NewHTTPClient(cfg.HTTPClient)
	return cfg, nil
}
