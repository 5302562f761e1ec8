package upkeep

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
)

func TestPoliciesOfTablesAreReadFromTheirProperties(t *testing.T) {
	usual := Policy{Compact: true, Indices: true, Cleanup: true, Retention: 7 * 24 * time.Hour, Keep: 1}
	with := func(change func(*Policy)) Policy {
		p := usual
		change(&p)
		return p
	}
	for _, c := range []struct {
		key, value string
		want       Policy
	}{
		{"other", "x", usual},
		{"maintenance", "on", usual},
		{"maintenance", "compact", with(func(p *Policy) { p.Indices, p.Cleanup = false, false })},
		{"maintenance", "Cleanup", with(func(p *Policy) { p.Compact, p.Indices = false, false })},
		{"maintenance", "indices, compact", with(func(p *Policy) { p.Cleanup = false })},
		{"maintenance", "off", with(func(p *Policy) { p.Compact, p.Indices, p.Cleanup = false, false, false })},
		{"maintenance.retention", "30d", with(func(p *Policy) { p.Retention = 30 * 24 * time.Hour })},
		{"maintenance.retention", "90m", with(func(p *Policy) { p.Retention = 90 * time.Minute })},
		{"maintenance.keep_versions", "100", with(func(p *Policy) { p.Keep = 100 })},
	} {
		got, err := Parse(map[string]string{c.key: c.value})
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s=%s (-want +got), %v:\n%s", c.key, c.value, err, diff)
		}
	}
	for key, values := range map[string][]string{
		"maintenance":               {"yes", "0", "compact;indices", "compact,"},
		"maintenance.retention":     {"59m", "0d", "-1d", "7", "d", "1e3d", "99999999999d", "week"},
		"maintenance.keep_versions": {"0", "-1", "x", "1.5"},
	} {
		for _, value := range values {
			if got, err := Parse(map[string]string{key: value}); protocol.CodeOf(err) != protocol.InvalidInput {
				t.Errorf("%s=%s: got %+v, %v; want InvalidInput", key, value, got, err)
			}
		}
	}
}
