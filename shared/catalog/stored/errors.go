package stored

import (
	"errors"
)

// ErrMoved means that a name now stands for another table, or that the table has another location.
var ErrMoved = errors.New("the table was dropped, replaced or moved while the request ran")
