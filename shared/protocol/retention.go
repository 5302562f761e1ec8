package protocol

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// PropertyDropRetention is the property of a table or a namespace for how long it can be restored after
// a drop, as [ParseDropRetention] reads it. A table or namespace that lacks the property inherits it from
// the nearest namespace around it, or else from the deployment.
const PropertyDropRetention = "drop.retention"

// maxDropRetention is the longest retention that a property can set.
const maxDropRetention = 100 * 365 * 24 * time.Hour

// ParseDropRetention parses the time for which dropped tables are kept: 0, or a number followed by
// d, h, m or s.
func ParseDropRetention(text string) (time.Duration, error) {
	var d time.Duration
	var err error
	if number, days := strings.CutSuffix(text, "d"); days {
		var n uint64
		n, err = strconv.ParseUint(number, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d < 0 || d > maxDropRetention {
		return 0, fmt.Errorf("%.40q is not a duration from 0 to 36500d, such as 7d or 36h", text)
	}
	return d, nil
}

// dropIDs are the ids of drops.
var dropIDs = regexp.MustCompile(`^[0-9a-z]{0,64}$`)

// CheckDropID refuses a text that is not the id of a drop. An empty one stands for the newest drop.
func CheckDropID(id string) error {
	if !dropIDs.MatchString(id) {
		return Errorf(InvalidInput, "drop_id is not the id of a drop; the list of what is dropped has the ids")
	}
	return nil
}
