package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol/accessapi"
)

// newAccessCommand explains the permissions of the caller, or of another subject, on an object.
func newAccessCommand(s *session) *cobra.Command {
	var namespace, allowed bool
	var subject accessapi.Subject
	cmd := s.command("access [NAME]", "Explain what you, or another subject, may do with a table, a view or a namespace", atMost(1), func(r *run) error {
		id, err := s.id(strings.Join(r.args, ""))
		if err != nil {
			return err
		}
		req := &accessapi.ExplainRequest{ObjectID: id.ID, Subject: subject}
		if namespace {
			req.Kind = accessapi.Namespace
		}
		if len(subject.Issuer)+len(subject.Groups)+len(subject.Roles)+len(subject.Scopes) > 0 && subject.Subject == "" {
			return usagef("--subject is required beside --issuer, --group, --role and --scope")
		}
		found, err := r.client.ExplainAccess(r.ctx, req)
		if err != nil {
			return err
		}
		out := s.list(r.cmd, "OPERATION", "ACCESS", "ALLOWED", "BY")
		for _, one := range found.Operations {
			if r.cmd.Flags().Changed("allowed") && one.Allowed != allowed {
				continue
			}
			out.add(one, one.Operation, one.Access, one.Allowed, decidedBy(found, one))
		}
		return out.flush()
	})
	flags := cmd.Flags()
	flags.BoolVar(&namespace, "namespace", false, "the name is that of a namespace")
	flags.BoolVar(&allowed, "allowed", false, "show the operations that are allowed, or with --allowed=false those that are not")
	flags.StringVar(&subject.Subject, "subject", "", "the subject of a token, or key:NAME; only an administrator may ask about others")
	flags.StringVar(&subject.Issuer, "issuer", "", "the issuer of the subject's token")
	flags.StringArrayVar(&subject.Groups, "group", nil, "a group of the subject")
	flags.StringArrayVar(&subject.Roles, "role", nil, "a role of the subject")
	flags.StringArrayVar(&subject.Scopes, "scope", nil, "a scope of the subject's token")
	return cmd
}

// decidedBy names the policies or scopes that decided about an operation.
func decidedBy(found *accessapi.ExplainResponse, one accessapi.Decision) string {
	if !found.ByPolicies {
		return "the scopes of the token"
	}
	texts := make([]string, len(one.Policies))
	for i, p := range one.Policies {
		texts[i] = fmt.Sprintf("%s %s, line %d", p.Effect, p.ID, p.Line)
	}
	if len(texts) == 0 && found.Administrator {
		return "no policy permits it"
	}
	return strings.Join(texts, "; ")
}
