package list_test

import (
	"testing"

	"tiltyard/shared/sql/internal/sqltest"
)

func TestComputesTheValuesOfTheNativeLance(t *testing.T) {
	sqltest.TestValues(t)
}
