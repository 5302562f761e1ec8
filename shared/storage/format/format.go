// Package format decodes Tiltyard's own stored JSON: the records of the catalog, of transactions and jobs,
// of idempotent requests and uploads. Table data are not stored in this way.
//
// The member "format" of an object is its format number; without the member it is 1. A release that adds a
// member, or a new value of a member, gives a higher number to the objects that use it, but to no others.
// So exactly the releases that would misinterpret an object refuse it.
//
// An unknown member has the same effect as a higher number, because an older release would ignore it, and
// drop it when it writes the object back.
package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"tiltyard/shared/protocol"
)

// Member is the member of an object that holds its format.
const Member = "format"

// Decode decodes a stored object into v. name is the object's name for error messages. If a newer release
// wrote the object, [Newer] is true for the error, and v is undefined.
func Decode(name string, data []byte, v any) error {
	err := strict(data, v)
	if err == nil {
		return nil
	}
	number, rest, ok := split(data)
	switch {
	case number > Known:
		return newer(name, fmt.Sprintf("its format is %d, and this release reads formats up to %d", number, Known))
	case ok: // an older or an equal format, named for clarity
		err = strict(rest, v)
	}
	if err != nil && json.Unmarshal(data, v) == nil {
		return Unknown(name, strings.TrimPrefix(err.Error(), "json: "))
	}
	if err != nil {
		return fmt.Errorf("decode %s: %w", name, err)
	}
	return nil
}

// Peek decodes some members of a stored object into v and skips the others. It refuses a higher format,
// like Decode. Callers must not write the object back.
func Peek(name string, data []byte, v any) error {
	if number, _, _ := split(data); number > Known {
		return newer(name, fmt.Sprintf("its format is %d, and this release reads formats up to %d", number, Known))
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decode %s: %w", name, err)
	}
	return nil
}

// strict decodes one JSON value into v. A member that v lacks is an error.
func strict(data []byte, v any) error {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(v); err != nil {
		return err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

// split returns the format of an object, and the object without it. ok is false when the object does
// not name its format, or is no object.
func split(data []byte) (number int64, rest []byte, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members[Member] == nil {
		return 1, nil, false
	}
	if json.Unmarshal(members[Member], &number) != nil {
		return Known + 1, nil, false // a format that is no number is none of this release
	}
	delete(members, Member)
	rest, err := json.Marshal(members)
	return number, rest, err == nil
}

// Newer reports whether an error means that a newer release wrote the object.
func Newer(err error) bool {
	var known *protocol.Error
	return errors.As(err, &known) && known.Kind == protocol.WrittenByNewer
}

// Unknown returns the error for a stored object with content that this release does not support.
func Unknown(name, what string) error {
	return newer(name, "this release does not know all that it holds ("+what+")")
}

// newer returns the error for a stored object with parts that this release does not support.
func newer(name, reason string) error {
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Kind: protocol.WrittenByNewer,
		Message: name + " was written by a newer Tiltyard: " + reason,
		Detail:  "nothing was changed; send the request again when the newer release answers here, or ask the operator to install it",
	}
}
