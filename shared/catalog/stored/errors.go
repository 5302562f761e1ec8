package stored

import (
	"errors"
)

// ErrMoved means that a name stands for another table, or another location, than before.
var ErrMoved = errors.New("the table was dropped, replaced or moved while the request ran")
