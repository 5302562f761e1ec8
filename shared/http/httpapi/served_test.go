package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"tiltyard/shared/http/httpapi"
)

func TestServedFailedIsTheFaultOfTheService(t *testing.T) {
	for _, c := range []struct {
		served httpapi.Served
		failed bool
	}{
		{httpapi.Served{Status: http.StatusOK}, false},
		{httpapi.Served{Status: http.StatusBadRequest, Err: errors.New("no such column")}, false},
		{httpapi.Served{Status: http.StatusInternalServerError, Err: errors.New("broken")}, true},
		{httpapi.Served{Status: http.StatusNotImplemented}, false},
		{httpapi.Served{Status: http.StatusOK, Cut: true, Err: errors.New("broken")}, true},
		{httpapi.Served{Status: http.StatusOK, Cut: true, Gone: true, Err: errors.New("broken pipe")}, false},
		{httpapi.Served{Status: http.StatusOK, Cut: true, Err: fmt.Errorf("write: %w", httpapi.ErrUndeliverable)}, false},
	} {
		if got := c.served.Failed(); got != c.failed {
			t.Errorf("%+v: failed is %t", c.served, got)
		}
	}
}
