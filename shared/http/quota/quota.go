// Package quota limits what principals, tenants and namespaces use: requests, bytes, rows, jobs, and requests at once. The
// operator declares quotas in a JSON text ([Parse]); a [Limiter] applies them to requests.
//
// A quota is a token bucket: it holds Amount when it is full, and refills evenly within Per. A request is refused if the
// bucket is empty. A quota of requests takes one token before the work; the others are charged after it, when bytes, rows
// and jobs are known, so that a bucket can get into debt, which it must refill first.
//
// All processes of a deployment share the buckets, by records in the [record.Store]. A process leases a sixteenth of the
// amount at a time and spends it without a request to the store. Leased tokens that a process does not use within Per are
// lost. A quota of concurrent requests is for each process.
//
// A quota of stored bytes has no bucket. It compares its amount with the bytes that package usage has metered, and refuses
// only operations that add data ([Adds]).
//
// A quota of parts has no bucket either, and refuses nothing: it bounds the parts of a query that run at once
// ([Admission.Parts]).
//
// If the records cannot be reached, requests are admitted: a quota is no right. Read bucket.go first.
package quota

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/protocol"
)

// A Subject is the kind of what a quota is for.
type Subject string

// The subjects of quotas, by their members in the text.
const (
	Principal Subject = "principal" // by its name in policies and logs: key:ada
	Tenant    Subject = "tenant"
	Namespace Subject = "namespace" // by its id, for all objects below it
)

// A Measure is what a quota counts.
type Measure string

// The measures of quotas, by their members in the text.
const (
	Requests     Measure = "requests"
	ReadBytes    Measure = "read_bytes"    // read from storage
	SentBytes    Measure = "sent_bytes"    // of the bodies of answers
	WrittenBytes Measure = "written_bytes" // to storage
	WrittenRows  Measure = "written_rows"  // inserted, updated or deleted
	Jobs         Measure = "jobs"          // begun
	Parts        Measure = "parts"         // of a query that run at once
	Concurrent   Measure = "concurrent"    // requests at once, in one process
	StoredBytes  Measure = "stored_bytes"  // of the tables in a first namespace
)

// measures lists all measures with their units in the headers of answers and in messages.
var measures = []struct {
	Measure
	unit, words string
}{
	{Requests, "requests", "requests"},
	{ReadBytes, "read-bytes", "bytes read from storage"},
	{SentBytes, "content-bytes", "bytes of answers"},
	{WrittenBytes, "written-bytes", "bytes written to storage"},
	{WrittenRows, "written-rows", "rows written"},
	{Jobs, "jobs", "jobs begun"},
	{Parts, "parts", "parts of a query at once"},
	{Concurrent, "concurrent-requests", "requests at once"},
	{StoredBytes, "stored-bytes", "bytes stored"},
}

// refills reports whether what is counted is used up and refills, which takes the time Per.
func (m Measure) refills() bool { return m != Parts && m != Concurrent && m != StoredBytes }

// bytes reports whether amounts may have the unit of bytes.
func (m Measure) bytes() bool {
	return m == ReadBytes || m == SentBytes || m == WrittenBytes || m == StoredBytes
}

func (m Measure) unit() string  { return measures[m.index()].unit }
func (m Measure) words() string { return measures[m.index()].words }

func (m Measure) index() int {
	for i, known := range measures {
		if known.Measure == m {
			return i
		}
	}
	panic("quota: unknown measure " + string(m))
}

// Each is the name of a subject that stands for each one without a quota of its own for the same measure.
const Each = "*"

// A Quota is one limit.
type Quota struct {
	Name    string
	Subject Subject
	Of      string // name of the subject, or Each
	Measure Measure
	Amount  int64
	Per     time.Duration // 0 for Parts, Concurrent and StoredBytes
}

// String describes the limit: 100 requests in 1m0s.
func (q *Quota) String() string {
	if !q.Measure.refills() {
		return fmt.Sprintf("%d %s", q.Amount, q.Measure.words())
	}
	return fmt.Sprintf("%d %s in %s", q.Amount, q.Measure.words(), q.Per)
}

// A Table has the quotas of a text, by the names of their subjects.
type Table struct {
	quotas     map[whom][]*Quota
	namespaces bool   // one is of a namespace
	stored     string // name of one of stored bytes; "" if there is none
}

// whom is the subject of quotas.
type whom struct {
	subject Subject
	of      string
}

const (
	maxQuotas = 10_000
	maxName   = 64
	minPer    = time.Second
	maxPer    = 31 * 24 * time.Hour
)

// Parse reads quotas:
//
//	{"quotas": [
//	    {"name": "callers", "principal": "*", "requests": 100, "per": "1s"},
//	    {"name": "acme-reads", "tenant": "acme", "read_bytes": "10GiB", "per": "1h"},
//	    {"name": "sales-writes", "namespace": "sales$eu", "written_rows": 1000000, "per": "1d"},
//	    {"name": "store", "namespace": "*", "stored_bytes": "1TiB"}
//	]}
//
// The error names each wrong quota.
func Parse(text []byte) (*Table, error) {
	var document struct {
		Quotas []json.RawMessage `json:"quotas"`
	}
	if err := strict(text, &document); err != nil {
		return nil, fmt.Errorf(`want a JSON object with the member "quotas", an array: %w`, err)
	}
	if len(document.Quotas) > maxQuotas {
		return nil, fmt.Errorf("there are %d quotas; at most %d are allowed", len(document.Quotas), maxQuotas)
	}
	table := &Table{quotas: map[whom][]*Quota{}}
	var wrong []error
	names, limits := map[string]bool{}, map[string]string{}
	for i, raw := range document.Quotas {
		q, err := parseQuota(raw)
		called := fmt.Sprintf("quota %d", i+1)
		if q.Name != "" {
			called = fmt.Sprintf("quota %.80q", q.Name)
		}
		limit := fmt.Sprint(q.Subject, "\x00", q.Of, "\x00", q.Measure, "\x00", q.Per)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Errorf("%s: %w", called, err))
			continue
		case names[q.Name]:
			wrong = append(wrong, fmt.Errorf("%s: another quota has this name", called))
		case limits[limit] != "":
			wrong = append(wrong, fmt.Errorf("%s: quota %q limits the same", called, limits[limit]))
		}
		table.namespaces = table.namespaces || q.Subject == Namespace
		if q.Measure == StoredBytes {
			table.stored = q.Name
		}
		names[q.Name], limits[limit] = true, q.Name
		table.quotas[whom{q.Subject, q.Of}] = append(table.quotas[whom{q.Subject, q.Of}], &q)
	}
	return table, errors.Join(wrong...)
}

// ParseUnmetered is Parse for a deployment that does not meter stored bytes. It refuses quotas of them.
func ParseUnmetered(text []byte) (*Table, error) {
	table, err := Parse(text)
	if err == nil && table.stored != "" {
		err = fmt.Errorf("quota %q: stored_bytes needs the metering of usage, and maintenance, which measures tables: set usage and maintenance to on", table.stored)
	}
	return table, err
}

// parseQuota reads one quota. After an error it may still have a name.
func parseQuota(text []byte) (Quota, error) {
	var members map[string]json.RawMessage
	if err := strict(text, &members); err != nil {
		return Quota{}, errors.New("must be an object")
	}
	var q Quota
	for _, name := range []string{"name", "per"} {
		raw, ok := members[name]
		delete(members, name)
		var value string
		if ok && json.Unmarshal(raw, &value) != nil {
			return q, fmt.Errorf("%s must be a text", name)
		}
		switch {
		case name == "name":
			q.Name = value
		case ok:
			var err error
			if q.Per, err = parsePer(value); err != nil {
				return q, err
			}
		}
	}
	if q.Name == "" || len(q.Name) > maxName || strings.ContainsFunc(q.Name, oddInName) {
		return q, fmt.Errorf("name must be 1 to %d of a-z, 0-9, - and _", maxName)
	}
	if err := q.takeSubject(members); err != nil {
		return q, err
	}
	if err := q.takeMeasure(members); err != nil {
		return q, err
	}
	for name := range members {
		return q, fmt.Errorf("there is no member %.40q", name)
	}
	switch {
	case q.Measure == Parts && q.Per != 0:
		return q, errors.New("parts takes no per: it limits those of each query that run at once")
	case q.Measure == Concurrent && q.Per != 0:
		return q, errors.New("concurrent takes no per: it limits requests at once")
	case q.Measure == StoredBytes && q.Per != 0:
		return q, errors.New("stored_bytes takes no per: it limits what is there at any time")
	case q.Measure.refills() && q.Per == 0:
		return q, errors.New("per is missing: the time in which the quota refills, such as 1m")
	case q.Measure == StoredBytes:
		return q, q.checkStored()
	}
	return q, nil
}

// checkStored refuses subjects for which stored bytes are not metered.
func (q *Quota) checkStored() error {
	if q.Subject != Namespace {
		return fmt.Errorf(`stored_bytes is for namespaces, not for a %s: write "namespace": "%.80s" for the tables in a first namespace of that name, or "*" for each`, q.Subject, q.Of)
	}
	if first, _, below := strings.Cut(q.Of, protocol.DefaultDelimiter); below {
		return fmt.Errorf(`stored_bytes is for first namespaces, with all that is below them: write "namespace": "%.80s" in place of %.80q`, first, q.Of)
	}
	return nil
}

func oddInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// takeSubject removes the subject from the members.
func (q *Quota) takeSubject(members map[string]json.RawMessage) error {
	for _, subject := range []Subject{Principal, Tenant, Namespace} {
		raw, ok := members[string(subject)]
		if !ok {
			continue
		}
		delete(members, string(subject))
		if q.Subject != "" {
			return fmt.Errorf("it has both %s and %s; a quota is for one of them", q.Subject, subject)
		}
		if json.Unmarshal(raw, &q.Of) != nil || q.Of == "" {
			return fmt.Errorf("%s must be a name, or %q for each", subject, Each)
		}
		q.Subject = subject
	}
	switch {
	case q.Subject == "":
		return errors.New("it is for nobody; give one of principal, tenant and namespace")
	case q.Subject == Namespace && q.Of != Each:
		if _, err := protocol.SplitID(q.Of, protocol.DefaultDelimiter); err != nil || q.Of == protocol.DefaultDelimiter {
			return errors.New(`namespace must be the id of a namespace below the root, such as sales$eu, or "*" for each first namespace`)
		}
	}
	return nil
}

// takeMeasure removes the measure from the members.
func (q *Quota) takeMeasure(members map[string]json.RawMessage) error {
	var names []string
	for _, m := range measures {
		names = append(names, string(m.Measure))
		raw, ok := members[string(m.Measure)]
		if !ok {
			continue
		}
		delete(members, string(m.Measure))
		if q.Measure != "" {
			return fmt.Errorf("it has both %s and %s; a quota limits one of them", q.Measure, m.Measure)
		}
		q.Measure = m.Measure
		var err error
		if q.Amount, err = parseAmount(raw, m.bytes()); err != nil {
			return fmt.Errorf("%s %w", m.Measure, err)
		}
	}
	if q.Measure == "" {
		return fmt.Errorf("it limits nothing; give one of %s", strings.Join(names, ", "))
	}
	return nil
}

// maxAmount is far below the numbers at which a float loses units, and structured fields end.
const maxAmount = 1e15 - 1

// parseAmount reads a positive number. Bytes may have a unit.
func parseAmount(raw json.RawMessage, bytes bool) (int64, error) {
	text := string(raw)
	factor := int64(1)
	var quoted string
	if bytes && json.Unmarshal(raw, &quoted) == nil {
		text = quoted
		for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
			if digits, ok := strings.CutSuffix(quoted, unit); ok {
				text, factor = digits, 1<<(10*(i+1))
			}
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > maxAmount/factor {
		if bytes {
			return 0, errors.New("must be a positive number of bytes, such as 1048576 or \"10GiB\"")
		}
		return 0, errors.New("must be a positive whole number")
	}
	return n * factor, nil
}

// parsePer reads a time. Days are 24 hours.
func parsePer(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if digits, ok := strings.CutSuffix(text, "d"); ok {
		var days int64
		days, err = strconv.ParseInt(digits, 10, 16)
		d = time.Duration(days) * 24 * time.Hour
	}
	if err != nil || d < minPer || d > maxPer || d%time.Second != 0 {
		return 0, errors.New("per must be whole seconds from 1s to 31d, such as 1m, 1h or 1d")
	}
	return d, nil
}

// strict decodes one JSON value, and refuses unknown members.
func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is text after the object")
	}
	return nil
}

// of returns the quotas of a subject with a name: those that name it, and for other measures those for each.
func (t *Table) of(subject Subject, name string) []*Quota {
	if name == Each {
		return t.quotas[whom{subject, Each}]
	}
	own := t.quotas[whom{subject, name}]
	found := slices.Clone(own)
	for _, q := range t.quotas[whom{subject, Each}] {
		if !slices.ContainsFunc(own, func(other *Quota) bool { return other.Measure == q.Measure }) {
			found = append(found, q)
		}
	}
	return found
}
