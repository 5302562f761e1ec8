package outbox

import (
	"strconv"
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/eventapi"
)

// A Cursor is a position between two events. Its text is the position of the last entry before it, such as "12". If it
// lies inside the next entry, a point and the number of that entry's events before it follow, such as "12.3".
type Cursor struct {
	Position uint64
	Skip     int
}

// String returns the text of the cursor.
func (c Cursor) String() string {
	text := strconv.FormatUint(c.Position, 10)
	if c.Skip > 0 {
		text += "." + strconv.Itoa(c.Skip)
	}
	return text
}

// ParseCursor parses a cursor. The error is InvalidInput for malformed text.
func ParseCursor(text string) (Cursor, error) {
	position, skip, skips := strings.Cut(text, ".")
	var c Cursor
	var err error
	c.Position, err = strconv.ParseUint(position, 10, 63)
	if err == nil && skips {
		var n uint64
		n, err = strconv.ParseUint(skip, 10, 31)
		c.Skip = int(n)
	}
	// Accept only the canonical text, so that equal cursors have equal texts.
	if err != nil || c.String() != text {
		return Cursor{}, protocol.Errorf(protocol.InvalidInput,
			"cursor %.80q is not from this list; send back the cursor of an answer, \"\" for the oldest event, or %q for what comes after the newest", text, eventapi.Latest)
	}
	return c, nil
}

// An ExpiredError means that events after a cursor were deleted.
type ExpiredError struct {
	Oldest Cursor // cursor before the oldest remaining event
}

// Error names the cursor from which to continue.
func (e *ExpiredError) Error() string {
	return "events after the cursor are deleted; the oldest event that is kept is after the cursor " + e.Oldest.String()
}
