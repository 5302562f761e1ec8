package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog/secretbox/kmskeys"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/storage/cloud/profiles"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/tables/vending/stsvendor"
)

// clients are all clients of AWS: this program serves whatever its configuration names.
var clients = boot.Clients{
	AWS: profiles.Load, Records: dynamorecord.Open, Jobs: sqsqueue.Open, Keys: kmskeys.Open, Role: stsvendor.Open,
}
