package maintain

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// The properties that say how a table is kept fit. A table without one of them has that of the
// nearest namespace around it that has.
const (
	// PropertyMode is on (the default), compact, cleanup or off: what is done without being
	// asked for.
	PropertyMode = "maintenance"
	// PropertyRetention is for how long versions are kept after they have been replaced: a
	// number and d, h, m or s, such as 7d, which is the default. Never less than an hour.
	PropertyRetention = "maintenance.retention"
	// PropertyKeep is how many versions are kept at least, however old; the default is 1.
	PropertyKeep = "maintenance.keep_versions"
)

// MinRetention is the shortest time for which a version is kept after it has been replaced: who
// reads or writes on top of it has to be done before.
const MinRetention = time.Hour

const defaultRetention = 7 * 24 * time.Hour

// A Policy says how a table is kept fit.
type Policy struct {
	Compact   bool
	Cleanup   bool
	Retention time.Duration // of versions that have been replaced
	Keep      int           // versions, at least
}

// PolicyOf returns what the properties of a table, and of the namespaces around it, say.
func PolicyOf(ctx context.Context, names *catalog.Catalog, id []string) (Policy, error) {
	table, err := names.Table(ctx, id)
	if err != nil {
		return Policy{}, err
	}
	found := map[string]string{}
	take := func(properties map[string]string) {
		for _, key := range []string{PropertyMode, PropertyRetention, PropertyKeep} {
			if value, ok := properties[key]; ok && found[key] == "" {
				found[key] = value
			}
		}
	}
	take(table.Properties)
	ctx = auth.Unlimited(ctx) // who may maintain a table need not see what it lies in
	for around := id[:len(id)-1]; len(around) > 0; around = around[:len(around)-1] {
		namespace, err := names.Namespace(ctx, around)
		if err != nil {
			return Policy{}, err
		}
		take(namespace.Properties)
	}
	return parsePolicy(found)
}

func parsePolicy(properties map[string]string) (Policy, error) {
	p := Policy{Compact: true, Cleanup: true, Retention: defaultRetention, Keep: 1}
	switch mode := strings.ToLower(properties[PropertyMode]); mode {
	case "", "on":
	case "compact":
		p.Cleanup = false
	case "cleanup":
		p.Compact = false
	case "off":
		p.Compact, p.Cleanup = false, false
	default:
		return p, protocol.Errorf(protocol.InvalidInput, "property %s is %.40q; it may be on, compact, cleanup or off", PropertyMode, mode)
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

// ParseRetention reads a time for which versions are kept.
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
		return 0, fmt.Errorf("%.40q is not a time of an hour or more, such as 7d or 36h", text)
	}
	return d, nil
}

const maxRetentionDays = 100 * 365
