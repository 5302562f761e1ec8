package boot

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/tables/vending"
)

// openVendor opens the source of credentials for clients, or returns nil if none is configured. It
// sends no request. Region, endpoints and credentials come from the environment.
func openVendor(c Config, now func() time.Time) (vending.Vendor, error) {
	switch {
	case c.VendKeys != "":
		return openVendedKeys(c.VendKeys)
	case c.VendRole == "":
		return nil, nil
	}
	environment, err := cloud.Load()
	if err != nil {
		return nil, fmt.Errorf("vend-role: %w", err)
	}
	if environment.Region == "" {
		return nil, errors.New("vend-role: no region of AWS is configured (AWS_REGION)")
	}
	endpoint := aws.ToString(s3.NewFromConfig(environment).Options().BaseEndpoint)
	service := cloud.Service{Name: "STS", What: "the role of credentials", Attempt: cloud.UsualAttempt}
	role, err := vending.OpenRole(sts.NewFromConfig(service.Client(environment)), vending.Config{
		Role: c.VendRole, Region: environment.Region, Endpoint: endpoint, Tags: c.VendTags, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("vend-role: %w", err)
	}
	return role, nil
}

// openVendedKeys reads fixed credentials for clients from a file.
func openVendedKeys(file string) (vending.Vendor, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("vend-keys: %w", err)
	}
	defer func() { _ = f.Close() }() // the file was only read
	keys, err := vending.ParseStatic(f)
	if err != nil {
		return nil, fmt.Errorf("vend-keys: %w", err)
	}
	return keys, nil
}
