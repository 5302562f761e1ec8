// Package upkeep reads the properties of tables and namespaces that control their maintenance.
package upkeep

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/protocol"
)

// These properties control the maintenance of a table. A property that a table lacks is inherited
// from the nearest namespace around it.
const (
	// PropertyMode selects the maintenance that happens without a request: on (the default), off, or
	// some of compact, indices and cleanup with commas between them.
	PropertyMode = "maintenance"
	// PropertyRetention is how long a replaced version is kept: a number followed by d, h, m or s.
	// The default is 7d, the minimum one hour.
	PropertyRetention = "maintenance.retention"
	// PropertyKeep is the least number of versions to keep, however old they are. The default is 1.
	PropertyKeep = "maintenance.keep_versions"
)

// MinRetention is the shortest time for which a replaced version is kept. It is long enough for
// requests that read the version, or write on top of it, to finish.
const MinRetention = time.Hour

const defaultRetention = 7 * 24 * time.Hour

// A Policy is the maintenance that the properties of a table request.
type Policy struct {
	Compact   bool
	Indices   bool
	Cleanup   bool
	Retention time.Duration // how long a replaced version is kept
	Keep      int           // the least number of versions to keep
}

// Parse reads a policy from the properties of an object and ignores other properties. A missing property has its default.
// The error is InvalidInput.
func Parse(properties map[string]string) (Policy, error) {
	p := Policy{Retention: defaultRetention, Keep: 1}
	if err := p.setMode(properties[PropertyMode]); err != nil {
		return p, err
	}
	if text := properties[PropertyRetention]; text != "" {
		retention, err := ParseRetention(text)
		if err != nil {
			return p, protocol.Errorf(protocol.InvalidInput, "property %s: %w", PropertyRetention, err)
		}
		p.Retention = retention
	}
	if text := properties[PropertyKeep]; text != "" {
		keep, err := strconv.Atoi(text)
		if err != nil || keep < 1 {
			return p, protocol.Errorf(protocol.InvalidInput, "property %s is %.40q; it must be a number from 1", PropertyKeep, text)
		}
		p.Keep = keep
	}
	return p, nil
}

// Check returns InvalidInput if the maintenance properties of a new table or namespace are
// malformed.
func Check(properties map[string]string) error {
	if text, ok := properties[protocol.PropertyDropRetention]; ok {
		if _, err := protocol.ParseDropRetention(text); err != nil {
			return protocol.Errorf(protocol.InvalidInput, "property %s: %w", protocol.PropertyDropRetention, err)
		}
	}
	_, err := Parse(properties)
	return err
}

// setMode sets which maintenance happens.
func (p *Policy) setMode(mode string) error {
	if mode == "" {
		mode = "on"
	}
	for part := range strings.SplitSeq(strings.ToLower(mode), ",") {
		switch strings.TrimSpace(part) {
		case "on":
			p.Compact, p.Indices, p.Cleanup = true, true, true
		case "compact":
			p.Compact = true
		case "indices":
			p.Indices = true
		case "cleanup":
			p.Cleanup = true
		case "off":
		default:
			return protocol.Errorf(protocol.InvalidInput, "property %s is %.40q; it may be on, off, or some of compact, indices and cleanup with commas between them", PropertyMode, mode)
		}
	}
	return nil
}

// ParseRetention reads how long replaced versions are kept.
func ParseRetention(text string) (time.Duration, error) {
	number, days := strings.CutSuffix(text, "d")
	var d time.Duration
	var err error
	if days {
		var n int
		if n, err = strconv.Atoi(number); err == nil && n >= 0 && n <= maxRetentionDays {
			d = time.Duration(n) * 24 * time.Hour
		}
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d < MinRetention {
		return 0, fmt.Errorf("%.40q is not a duration of an hour or more, such as 7d or 36h", text)
	}
	return d, nil
}

const maxRetentionDays = 100 * 365
