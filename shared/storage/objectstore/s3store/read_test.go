package s3store

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func TestTimesOfListingsAreThoseOfHeaders(t *testing.T) {
	listed := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	info, err := infoOfRead("k", 1, aws.String(`"e"`), &listed)
	if want := listed.Truncate(time.Second); err != nil || !info.Modified.Equal(want) {
		t.Errorf("got %v, %v, want %v", info.Modified, err, want)
	}
}
