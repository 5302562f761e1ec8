package command

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/versionapi"
)

// newVersionRestore makes an old version the newest one again.
func newVersionRestore(s *session) *cobra.Command {
	return s.on("restore TABLE VERSION", "Make a new version that equals an old one", exactly(2), func(r *run, id protocol.Common) error {
		version, err := number(r.args[1])
		if err != nil {
			return err
		}
		_, err = r.client.RestoreTable(r.ctx, &versionapi.RestoreRequest{Common: id, Version: &version})
		return err
	})
}

func newTagCommand(s *session) *cobra.Command {
	list := s.on("list TABLE", "List the tags of a table", exactly(1), func(r *run, id protocol.Common) error {
		out := s.list(r.cmd, "NAME", "VERSION", "BRANCH")
		for tag, err := range r.client.Tags(r.ctx, &refapi.ListTagsRequest{Common: id}) {
			if err != nil {
				return err
			}
			out.add(map[string]any{"name": tag.Name, "version": tag.Version, "branch": tag.Branch}, tag.Name, tag.Version, tag.Branch)
		}
		return out.flush()
	})
	set := func(use, short string, do func(*run, *refapi.SetTagRequest) error) *cobra.Command {
		return s.on(use+" TABLE TAG VERSION", short, exactly(3), func(r *run, id protocol.Common) error {
			version, err := number(r.args[2])
			if err != nil {
				return err
			}
			return do(r, &refapi.SetTagRequest{Common: id, Tag: r.args[1], Version: &version})
		})
	}
	drop := s.on("delete TABLE TAG", "Remove a tag", exactly(2), func(r *run, id protocol.Common) error {
		_, err := r.client.DeleteTableTag(r.ctx, &refapi.DeleteTagRequest{Common: id, Tag: r.args[1]})
		return err
	})
	return newGroup("tag", "Names of versions", list,
		set("create", "Give a name to a version", func(r *run, req *refapi.SetTagRequest) error {
			_, err := r.client.CreateTableTag(r.ctx, req)
			return err
		}),
		set("move", "Let a tag name another version", func(r *run, req *refapi.SetTagRequest) error {
			_, err := r.client.UpdateTableTag(r.ctx, req)
			return err
		}), drop)
}

func newBranchCommand(s *session) *cobra.Command {
	list := s.on("list TABLE", "List the branches of a table", exactly(1), func(r *run, id protocol.Common) error {
		out := s.list(r.cmd, "NAME", "FROM VERSION", "FROM BRANCH", "MADE (UTC)")
		for b, err := range r.client.Branches(r.ctx, &refapi.ListBranchesRequest{Common: id}) {
			if err != nil {
				return err
			}
			out.add(map[string]any{"name": b.Name, "parent_version": b.ParentVersion, "parent_branch": b.ParentBranch, "created_at": b.CreateAt},
				b.Name, b.ParentVersion, b.ParentBranch, at(b.CreateAt*1000))
		}
		return out.flush()
	})
	var from int64
	create := s.on("create TABLE BRANCH", "Make a branch of a version", exactly(2), func(r *run, id protocol.Common) error {
		req := &refapi.CreateBranchRequest{Common: id, Name: r.args[1]}
		if r.cmd.Flags().Changed("from") {
			req.FromVersion = &from
		}
		_, err := r.client.CreateTableBranch(r.ctx, req)
		return err
	})
	create.Flags().Int64Var(&from, "from", 0, "the version; the newest when not given")
	drop := s.on("delete TABLE BRANCH", "Remove a branch and its versions", exactly(2), func(r *run, id protocol.Common) error {
		_, err := r.client.DeleteTableBranch(r.ctx, &refapi.DeleteBranchRequest{Common: id, Name: r.args[1]})
		return err
	})
	return newGroup("branch", "Branches of tables", list, create, drop)
}

// number parses the number of a version.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, usagef("%q is no version; versions count from 1", text)
	}
	return n, nil
}

func joined(texts []string) string { return strings.Join(texts, ", ") }
