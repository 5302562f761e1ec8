package command_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tiltyard/local/command"
)

func TestUsageSumsTheTable(t *testing.T) {
	setUp(t)
	if _, stderr, code := tiltyard(t, "", "usage"); code != command.ExitNotFound || !strings.Contains(stderr, "--usage on") {
		t.Errorf("without the table: exit code %d, %s", code, stderr)
	}
	must(t, "ns", "create", "__system")
	must(t, "sql", `CREATE TABLE __system.usage (hour timestamp, tenant string, namespace string, kind string, requests bigint, refused bigint, failed bigint,
		compute_ms bigint, read_bytes bigint, sent_bytes bigint, written_rows bigint, jobs bigint, stored_bytes bigint)`)
	hour := func(ago int) string {
		return "TIMESTAMP '" + time.Now().UTC().Add(-time.Duration(ago)*time.Hour).Truncate(time.Hour).Format(time.DateTime) + "'"
	}
	must(t, "sql", fmt.Sprintf(`INSERT INTO __system.usage VALUES (%s, 'acme', 'sales', 'query', 10, 1, 0, 5, 100, 7, 0, 0, NULL), (%s, 'acme', '', 'data', 2, 0, 0, 5, 0, 7, 30, 1, NULL),
		(%[1]s, 'bolt''s', '', 'query', 40, 0, 0, 5, 0, 7, 0, 0, NULL), (%[3]s, 'acme', 'sales', 'query', 1000, 1, 0, 5, 100, 7, 0, 0, NULL),
		(%[2]s, 'acme', 'acme', 'storage', 0, 0, 0, 0, 0, 0, 0, 0, 4096), (%[2]s, 'rest', 'rest', 'storage', 0, 0, 0, 0, 0, 0, 0, 0, 12)`, hour(1), hour(2), hour(60)))
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `{"compute_ms":5,"failed":0,"jobs":0,"read_bytes":0,"refused":0,"requests":40,"sent_bytes":7,"tenant":"bolt's","written_rows":0}
{"compute_ms":10,"failed":0,"jobs":1,"read_bytes":100,"refused":1,"requests":12,"sent_bytes":14,"tenant":"acme","written_rows":30}
`},
		{[]string{"--tenant", "bolt's", "--by", "tenant,kind"}, `{"compute_ms":5,"failed":0,"jobs":0,"kind":"query","read_bytes":0,"refused":0,"requests":40,"sent_bytes":7,"tenant":"bolt's","written_rows":0}
`},
		{[]string{"--namespace", "", "--by", "namespace"}, `{"compute_ms":10,"failed":0,"jobs":1,"namespace":"","read_bytes":0,"refused":0,"requests":42,"sent_bytes":14,"written_rows":30}
`},
		{[]string{"--namespace", "sales", "--since", "100h", "--by", "namespace"}, `{"compute_ms":10,"failed":0,"jobs":0,"namespace":"sales","read_bytes":200,"refused":2,"requests":1010,"sent_bytes":14,"written_rows":0}
`},
	} {
		if got := must(t, append([]string{"usage", "-o", "json"}, c.args...)...); got != c.want {
			t.Errorf("%v: got\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	if got := must(t, "usage", "--by", "hour,kind"); strings.Index(got, "data") > strings.Index(got, "query") {
		t.Errorf("hours are out of order:\n%s", got)
	}
	for _, c := range []struct{ args, want string }{{"", "4096 12"}, {"--tenant=rest", "12"}, {"--since=1m", ""}} {
		args := append([]string{"usage", "--stored", "-o", "json"}, strings.Fields(c.args)...)
		var got []string
		for _, line := range strings.Split(must(t, args...), "\n") {
			if _, bytes, ok := strings.Cut(line, `"stored_bytes":`); ok {
				bytes, _, _ = strings.Cut(bytes, ",")
				got = append(got, bytes)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: got %q, want %q", args, got, c.want)
		}
	}
	for _, args := range [][]string{{"--stored", "--by", "kind"}, {"--by", "color"}, {"--by", "kind,kind"}, {"--since", "0s"}} {
		if _, _, code := tiltyard(t, "", append([]string{"usage"}, args...)...); code != command.ExitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
