package boot

import (
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/tables/vending"
)

// openVendor opens the source of credentials for clients, or returns nil if none is configured, or if it
// is a role and the program has no client for it. It sends no request.
func openVendor(c Config, clients Clients, now func() time.Time) (vending.Vendor, error) {
	switch {
	case c.VendKeys != "":
		return openVendedKeys(c.VendKeys)
	case c.VendRole == "" || clients.Role == nil:
		return nil, nil
	}
	config, err := clients.of(cloud.Service{Name: "STS", What: "the role of credentials", Attempt: cloud.UsualAttempt})
	if err != nil {
		return nil, fmt.Errorf("vend-role: %w", err)
	}
	role, err := clients.Role(config, vending.Role{
		ARN: c.VendRole, Region: config.Region, Endpoint: aws.ToString(s3.NewFromConfig(config).Options().BaseEndpoint), Tags: c.VendTags, Now: now,
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
