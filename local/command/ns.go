package command

import (
	"errors"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
)

func newNamespaceCommand(s *session) *cobra.Command {
	list := s.in("list", "List the namespaces in a namespace", func(r *run, id protocol.Common) error {
		return s.names(r.cmd, r.client.Namespaces(r.ctx, &namespaceapi.ListRequest{Common: id}))
	})
	show := s.in("show", "Show the properties of a namespace", func(r *run, id protocol.Common) error {
		found, err := r.client.DescribeNamespace(r.ctx, &namespaceapi.DescribeRequest{Common: id})
		if err != nil {
			return err
		}
		return s.show(r.cmd, found, "properties", pairs(found.Properties))
	})
	var properties map[string]string
	var existOK, cascade, ifExists bool
	create := s.on("create NAMESPACE", "Make a namespace", exactly(1), func(r *run, id protocol.Common) error {
		req := &namespaceapi.CreateRequest{Common: id, Properties: properties}
		if existOK {
			req.Mode = protocol.CreateModeExistOk
		}
		_, err := r.client.CreateNamespace(r.ctx, req)
		return advised(err, protocol.NamespaceAlreadyExists, "choose another name, or --exist-ok to keep it as it is")
	})
	create.Flags().StringToStringVar(&properties, "property", nil, "a property KEY=VALUE; may be repeated")
	create.Flags().BoolVar(&existOK, "exist-ok", false, "do nothing if it exists")
	drop := s.on("drop NAMESPACE", "Remove a namespace", exactly(1), func(r *run, id protocol.Common) error {
		req := &namespaceapi.DropRequest{Common: id}
		if cascade {
			req.Behavior = namespaceapi.DropBehaviorCascade
		}
		dropped, err := patiently(r, func() (*namespaceapi.DropResponse, error) { return r.client.DropNamespace(r.ctx, req) })
		if ifExists && errors.Is(err, protocol.NamespaceNotFound) {
			return nil
		}
		// A large cascade runs as a job.
		if err == nil && dropped != nil && len(dropped.TransactionID) > 0 {
			say(r.cmd, "what is in it goes in the background; tiltyard job list shows how far it is")
		}
		if err == nil && dropped != nil && dropped.DropID != "" {
			say(r.cmd, "tiltyard undrop --namespace %s restores it until %s", r.args[0], at(dropped.RestorableUntilMillis))
		}
		return advised(err, protocol.NamespaceNotEmpty, "drop what it holds first, or use --cascade")
	})
	drop.Flags().BoolVar(&cascade, "cascade", false, "drop what is in it, too")
	drop.Flags().BoolVar(&ifExists, "if-exists", false, "do nothing if it does not exist")
	return newGroup("ns", "Namespaces", list, show, create, drop)
}
