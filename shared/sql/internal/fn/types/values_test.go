package types_test

import (
	"testing"

	"tiltyard/shared/sql/internal/sqltest"
)

func TestComputesTheValuesOfTheNativeLance(t *testing.T) {
	sqltest.TestValues(t)
}

// The values of such casts equal those of native Lance, but have a simpler type.
func TestTypeOfAnotherLayoutIsNotNamed(t *testing.T) {
	for _, typ := range []string{"Utf8View", "BinaryView", "Dictionary(Int32, Utf8)", "List(Utf8View)"} {
		expr := "arrow_typeof(arrow_cast(NULL, '" + typ + "'))"
		if got, err := sqltest.Compute(expr, sqltest.Table(t)); err == nil {
			t.Errorf("%s: got %v, want an error", expr, got)
		}
	}
}
