package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
)

// The columns of the table of usage by which it can be grouped, and the sums that are shown.
var (
	usageGroups = []string{"hour", "tenant", "namespace", "kind"}
	usageSums   = []string{"requests", "refused", "failed", "compute_ms", "read_bytes", "sent_bytes", "written_rows", "jobs"}
)

// newUsageCommand shows what tenants have used.
func newUsageCommand(s *session) *cobra.Command {
	var by []string
	var since time.Duration
	var tenant, namespace string
	var stored bool
	cmd := s.command("usage", "Show what tenants have used", exactly(0), func(r *run) error {
		for i, group := range by {
			if !slices.Contains(usageGroups, group) || slices.Contains(by[:i], group) {
				return usagef("--by has %q; it must be some of %s, each once", group, strings.Join(usageGroups, ", "))
			}
		}
		given := r.cmd.Flags().Changed
		if len(by) == 0 || since <= 0 {
			return usagef("--by and --since must not be empty")
		}
		if stored && given("by") {
			return usagef("--stored shows a row for each day and tenant; leave out --by")
		}
		where, values := usageConditions(time.Now().Add(-since).Truncate(time.Hour), map[string]string{"tenant": tenant, "namespace": namespace}, given)
		text := usageStatement(by, where)
		if stored {
			text = storedStatement(where)
		}
		err := s.statement(r, text, values)
		if protocol.HasCode(err, protocol.TableNotFound, protocol.NamespaceNotFound) {
			return errors.Join(err, errors.New("a server with --usage on makes the table __system/usage after the first full hour"))
		}
		return err
	})
	cmd.Long = `Show what tenants have used in hours that have ended: requests, those of them that were refused
with 429 and that failed, the time that they and their jobs took, bytes read from storage, bytes of answers, rows written,
and jobs begun. --stored shows the bytes that they store, a row for each day and tenant. It reads the
table __system/usage, which a server keeps with --usage on; sql can compute more from it.`
	cmd.Example = `  tiltyard usage
  tiltyard usage --tenant acme --by hour,kind --since 48h
  tiltyard usage --by tenant,namespace --since 720h -o json
  tiltyard usage --stored --since 168h`
	cmd.Flags().StringSliceVar(&by, "by", []string{"tenant"}, "sums for each of these: hour, tenant, namespace, kind")
	cmd.Flags().DurationVar(&since, "since", 24*time.Hour, "age of the first hour")
	cmd.Flags().StringVar(&tenant, "tenant", "", "only of this tenant")
	cmd.Flags().StringVar(&namespace, "namespace", "", "only of this first namespace; empty is the root")
	cmd.Flags().BoolVar(&stored, "stored", false, "the bytes that tenants stored at the end of each day")
	return cmd
}

// usageConditions returns the conditions on rows since a time, and their parameters. given reports whether a flag was
// given; its value then is a condition.
func usageConditions(since time.Time, only map[string]string, given func(flag string) bool) (where string, values map[string]json.RawMessage) {
	all := []string{fmt.Sprintf("hour >= TIMESTAMP '%s'", since.UTC().Format(time.DateTime))}
	values = map[string]json.RawMessage{}
	for _, name := range []string{"tenant", "namespace"} {
		if given(name) {
			all = append(all, name+" = $"+name)
			values[name], _ = json.Marshal(only[name]) // a text
		}
	}
	return strings.Join(all, " AND "), values
}

// usageStatement returns the statement that sums the rows of requests and jobs which meet a condition.
func usageStatement(by []string, where string) string {
	columns := slices.Clone(by)
	for _, sum := range usageSums {
		columns = append(columns, fmt.Sprintf("sum(%s) AS %[1]s", sum))
	}
	order := "requests DESC"
	if slices.Contains(by, "hour") {
		order = "hour, " + order
	}
	groups := strings.Join(by, ", ")
	return fmt.Sprintf(`SELECT %s FROM "__system"."usage" WHERE kind <> 'storage' AND %s GROUP BY %s ORDER BY %s, %s`, strings.Join(columns, ", "), where, groups, order, groups)
}

// storedStatement returns the statement that shows the rows of stored bytes which meet a condition.
func storedStatement(where string) string {
	return fmt.Sprintf(`SELECT hour AS day, tenant, stored_bytes FROM "__system"."usage" WHERE kind = 'storage' AND %s ORDER BY day, tenant`, where)
}
