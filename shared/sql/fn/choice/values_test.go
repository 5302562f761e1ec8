package choice_test

import (
	"testing"

	"tiltyard/shared/sql/sqltest"
)

func TestComputesTheValuesOfTheNativeLance(t *testing.T) {
	sqltest.TestValues(t)
}
