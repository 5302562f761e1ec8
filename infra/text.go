package main

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"
)

// title capitalizes the name of a function for construct ids.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// join prefixes a value that is known only after deployment.
func join(prefix string, value *string) *string {
	return awscdk.Fn_Join(jsii.String(""), &[]*string{&prefix, value})
}

// joined concatenates values that are known only after deployment.
func joined(values ...*string) *string { return awscdk.Fn_Join(jsii.String(""), &values) }

func s3URL(bucket *string) *string { return join("s3://", bucket) }

func commaSeparated(values []string) string { return strings.Join(values, ",") }

// splitLocation splits an S3 location. The prefix is empty or ends with a slash.
func splitLocation(location string) (bucket, prefix string) {
	bucket, prefix, _ = strings.Cut(strings.TrimPrefix(location, "s3://"), "/")
	if prefix != "" {
		prefix += "/"
	}
	return bucket, prefix
}

// retentions maps the retention times that CloudWatch supports, in days.
var retentions = map[int]awslogs.RetentionDays{
	1: awslogs.RetentionDays_ONE_DAY, 3: awslogs.RetentionDays_THREE_DAYS,
	5: awslogs.RetentionDays_FIVE_DAYS, 7: awslogs.RetentionDays_ONE_WEEK,
	14: awslogs.RetentionDays_TWO_WEEKS, 30: awslogs.RetentionDays_ONE_MONTH,
	60: awslogs.RetentionDays_TWO_MONTHS, 90: awslogs.RetentionDays_THREE_MONTHS,
	120: awslogs.RetentionDays_FOUR_MONTHS, 150: awslogs.RetentionDays_FIVE_MONTHS,
	180: awslogs.RetentionDays_SIX_MONTHS, 365: awslogs.RetentionDays_ONE_YEAR,
	400: awslogs.RetentionDays_THIRTEEN_MONTHS, 545: awslogs.RetentionDays_EIGHTEEN_MONTHS,
	731: awslogs.RetentionDays_TWO_YEARS, 1827: awslogs.RetentionDays_FIVE_YEARS,
	3653: awslogs.RetentionDays_TEN_YEARS,
}
