package quota

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuotasAreParsed(t *testing.T) {
	table, err := Parse([]byte(`{"quotas": [
		{"name": "callers", "principal": "*", "requests": 100, "per": "1s"},
		{"name": "acme-reads", "tenant": "acme", "read_bytes": "10GiB", "per": "1h"},
		{"name": "sales", "namespace": "sales$eu", "written_rows": 1000000, "per": "7d"},
		{"name": "at-once", "tenant": "*", "concurrent": 8}, {"name": "writes", "tenant": "acme", "written_bytes": "5MiB", "per": "1d"},
		{"name": "each", "namespace": "*", "stored_bytes": "2TiB"}, {"name": "store", "namespace": "big", "stored_bytes": 7}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []Quota
	for _, of := range []whom{{Principal, "ada"}, {Tenant, "acme"}, {Namespace, "sales$eu"}, {Namespace, "sales"}, {Namespace, "big"}} {
		for _, q := range table.of(of.subject, of.of) {
			got = append(got, *q)
		}
	}
	want := []Quota{
		{"callers", Principal, "*", Requests, 100, time.Second},
		{"acme-reads", Tenant, "acme", ReadBytes, 10 << 30, time.Hour},
		{"writes", Tenant, "acme", WrittenBytes, 5 << 20, 24 * time.Hour},
		{"at-once", Tenant, "*", Concurrent, 8, 0},
		{"sales", Namespace, "sales$eu", WrittenRows, 1_000_000, 7 * 24 * time.Hour},
		{"each", Namespace, "*", StoredBytes, 2 << 40, 0},
		{"each", Namespace, "*", StoredBytes, 2 << 40, 0},
		{"store", Namespace, "big", StoredBytes, 7, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWrongQuotasAreRefusedByName(t *testing.T) {
	for _, test := range []struct{ quotas, want string }{
		{`{"name": "a", "tenant": "*", "requests": 1}`, `quota "a": per is missing`},
		{`{"name": "a", "requests": 1, "per": "1s"}`, `quota "a": it is for nobody; give one of principal, tenant and namespace`},
		{`{"name": "a", "tenant": "x", "per": "1s"}`, `quota "a": it limits nothing; give one of requests, read_bytes`},
		{`{"name": "a", "tenant": "x", "principal": "y", "requests": 1, "per": "1s"}`, `quota "a": it has both principal and tenant`},
		{`{"name": "a", "tenant": "x", "requests": 1, "jobs": 2, "per": "1s"}`, `quota "a": it has both requests and jobs`},
		{`{"name": "a", "tenant": "x", "requests": "12MiB", "per": "1s"}`, `quota "a": requests must be a positive whole number`},
		{`{"name": "a", "tenant": "x", "requests": 0, "per": "1s"}`, `quota "a": requests must be a positive whole number`},
		{`{"name": "a", "tenant": "x", "sent_bytes": "12MB", "per": "1s"}`, `quota "a": sent_bytes must be a positive number of bytes`},
		{`{"name": "a", "tenant": "x", "requests": 1, "per": "500ms"}`, `quota "a": per must be whole seconds from 1s to 31d`},
		{`{"name": "a", "tenant": "x", "concurrent": 1, "per": "1s"}`, `quota "a": concurrent takes no per`},
		{`{"name": "a", "tenant": "x", "parts": 4, "per": "1s"}`, `quota "a": parts takes no per`},
		{`{"name": "a", "namespace": "x", "stored_bytes": 1, "per": "1d"}`, `quota "a": stored_bytes takes no per`},
		{`{"name": "a", "tenant": "x", "stored_bytes": 1}`, `quota "a": stored_bytes is for namespaces, not for a tenant: write "namespace": "x"`},
		{`{"name": "a", "principal": "*", "stored_bytes": 1}`, `quota "a": stored_bytes is for namespaces, not for a principal: write "namespace": "*"`},
		{`{"name": "a", "namespace": "x$y", "stored_bytes": 1}`, `quota "a": stored_bytes is for first namespaces, with all that is below them: write "namespace": "x" in place of "x$y"`},
		{`{"name": "a", "namespace": "x", "stored_bytes": "1GB"}`, `quota "a": stored_bytes must be a positive number of bytes`},
		{`{"name": "a", "namespace": "x", "stored_bytes": 1}, {"name": "b", "namespace": "x", "stored_bytes": 2}`, `quota "b": quota "a" limits the same`},
		{`{"name": "a", "tenant": "x", "written_bytes": "1GiB"}`, `quota "a": per is missing`},
		{`{"name": "a", "tenant": "", "requests": 1, "per": "1s"}`, `quota "a": tenant must be a name`},
		{`{"name": "a", "namespace": "$", "requests": 1, "per": "1s"}`, `quota "a": namespace must be the id`},
		{`{"name": "a", "tenant": "x", "requests": 1, "per": "1s", "burst": 3}`, `quota "a": there is no member "burst"`},
		{`{"name": "A b", "tenant": "x", "requests": 1, "per": "1s"}`, `quota "A b": name must be`},
		{`{"tenant": "x", "requests": 1, "per": "1s"}`, `quota 1: name must be`},
		{`7`, `quota 1: must be an object`},
		{`{"name": "a", "tenant": "x", "requests": 1, "per": "1s"}, {"name": "a", "tenant": "y", "requests": 1, "per": "1s"}`, `quota "a": another quota has this name`},
		{`{"name": "a", "tenant": "x", "requests": 1, "per": "60s"}, {"name": "b", "tenant": "x", "requests": 2, "per": "1m"}`, `quota "b": quota "a" limits the same`},
	} {
		if _, err := Parse([]byte(`{"quotas": [` + test.quotas + `]}`)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.quotas, err, test.want)
		}
	}
	for _, text := range []string{``, `[]`, `{"quota": []}`, `{"quotas": []} {}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// Without metering, quotas of stored bytes would limit nothing.
func TestQuotasOfStoredBytesNeedMetering(t *testing.T) {
	_, err := ParseUnmetered([]byte(`{"quotas": [{"name": "rate", "tenant": "*", "requests": 1, "per": "1s"}, {"name": "store", "namespace": "*", "stored_bytes": 1}]}`))
	if err == nil || !strings.Contains(err.Error(), `quota "store": stored_bytes needs the metering of usage`) {
		t.Errorf("got %v", err)
	}
	if table, err := ParseUnmetered([]byte(`{"quotas": [{"name": "rate", "namespace": "*", "written_bytes": 1, "per": "1s"}]}`)); err != nil || !table.namespaces {
		t.Errorf("got %v", err)
	}
}

// A quota of a name replaces those for each with the same measure, and no others.
func TestNamedQuotasReplaceThoseForEach(t *testing.T) {
	table, err := Parse([]byte(`{"quotas": [
		{"name": "each", "tenant": "*", "requests": 1, "per": "1s"}, {"name": "each-hour", "tenant": "*", "requests": 9, "per": "1h"},
		{"name": "each-jobs", "tenant": "*", "jobs": 1, "per": "1s"}, {"name": "acme", "tenant": "acme", "requests": 5, "per": "1s"}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[string]string{"acme": "acme each-jobs", "bolt": "each each-hour each-jobs", "*": "each each-hour each-jobs"} {
		var got []string
		for _, q := range table.of(Tenant, tenant) {
			got = append(got, q.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %s", tenant, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"quotas": [{"name": "a", "tenant": "*", "read_bytes": "1TiB", "per": "1d"}, {"name": "b", "namespace": "a$b", "concurrent": 2}]}`)
	f.Add(`{"quotas": [{"name": "a", "principal": "*", "requests": 1e9, "per": "-1d"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for of, quotas := range table.quotas {
			for _, q := range quotas {
				if q.Name == "" || q.Of == "" || q.Subject != of.subject || q.Amount <= 0 || q.Amount > maxAmount || (q.Per == 0) == q.Measure.refills() ||
					q.Measure == StoredBytes && (q.Subject != Namespace || strings.Contains(q.Of, "$")) {
					t.Errorf("accepted %+v", q)
				}
				_ = q.String()
			}
		}
	})
}
