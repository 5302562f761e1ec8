package stored

import (
	"errors"
	"fmt"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/protocol"
)

// LostRace is the error when a record changed between our read and our write.
func LostRace(what string, id []string, err error) error {
	return &protocol.Error{
		Code:    protocol.ConcurrentModification,
		Message: fmt.Sprintf("%s %s was changed by another request", what, keys.Display(id)),
		Detail:  "read it again and retry",
		Err:     err,
	}
}

// ErrMoved means that a name stands for another table, or another location, than before.
var ErrMoved = errors.New("the table was dropped, replaced or moved while the request ran")
