package client

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/secretapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/protocol/viewapi"
)

// The methods of this file iterate over all pages of a list. They request the next page when the
// loop needs it, and the first error ends the loop. Limit is the size of a page, 1,000 if it is
// nil, and PageToken is the start of the list.

const pageSize = 1000

// Namespaces yields the names of the namespaces in a namespace.
func (c *Client) Namespaces(ctx context.Context, req *namespaceapi.ListRequest) iter.Seq2[string, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]string, string, error) {
		next.Page = page
		resp, err := c.ListNamespaces(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Namespaces, resp.PageToken, nil
	})
}

// Tables yields the names of the tables in a namespace.
func (c *Client) Tables(ctx context.Context, req *tableapi.ListRequest) iter.Seq2[string, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]string, string, error) {
		next.Page = page
		resp, err := c.ListTables(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Tables, resp.PageToken, nil
	})
}

// AllTables yields the tables of all namespaces, as names joined by $.
func (c *Client) AllTables(ctx context.Context, req *tableapi.ListAllRequest) iter.Seq2[string, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]string, string, error) {
		next.Page = page
		resp, err := c.ListAllTables(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Tables, resp.PageToken, nil
	})
}

// Dropped yields the dropped objects in a namespace, at any depth, that can be restored.
func (c *Client) Dropped(ctx context.Context, req *namespaceapi.ListDroppedRequest) iter.Seq2[namespaceapi.DroppedObject, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]namespaceapi.DroppedObject, string, error) {
		next.Page = page
		resp, err := c.ListDropped(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Dropped, resp.PageToken, nil
	})
}

// Found yields the tables that meet conditions. For a table that cannot be read, it yields an [UnreadableTable] error,
// after which the loop may continue.
func (c *Client) Found(ctx context.Context, req *tableapi.FindRequest) iter.Seq2[tableapi.Found, error] {
	type result struct {
		table      tableapi.Found
		unreadable error
	}
	next := *req
	results := pages(next.Page, func(page protocol.Page) ([]result, string, error) {
		next.Page = page
		resp, err := c.FindTables(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		var all []result
		for _, one := range resp.Tables {
			all = append(all, result{table: one})
		}
		for _, one := range resp.Unreadable {
			all = append(all, result{unreadable: UnreadableTable(one)})
		}
		return all, resp.PageToken, nil
	})
	return func(yield func(tableapi.Found, error) bool) {
		for one, err := range results {
			if !yield(one.table, cmp.Or(err, one.unreadable)) {
				return
			}
		}
	}
}

// Indices yields the indices of a table.
func (c *Client) Indices(ctx context.Context, req *indexapi.ListRequest) iter.Seq2[indexapi.Content, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]indexapi.Content, string, error) {
		next.Page = page
		resp, err := c.ListTableIndices(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Indexes, resp.PageToken, nil
	})
}

// Versions yields the versions of a table, the oldest first unless the request is descending.
func (c *Client) Versions(ctx context.Context, req *versionapi.ListRequest) iter.Seq2[versionapi.Version, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]versionapi.Version, string, error) {
		next.Page = page
		resp, err := c.ListTableVersions(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Versions, resp.PageToken, nil
	})
}

// Tags yields the tags of a table.
func (c *Client) Tags(ctx context.Context, req *refapi.ListTagsRequest) iter.Seq2[Tag, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]Tag, string, error) {
		next.Page = page
		resp, err := c.ListTableTags(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return tags(resp), resp.PageToken, nil
	})
}

// Branches yields the branches of a table.
func (c *Client) Branches(ctx context.Context, req *refapi.ListBranchesRequest) iter.Seq2[Branch, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]Branch, string, error) {
		next.Page = page
		resp, err := c.ListTableBranches(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return branches(resp), resp.PageToken, nil
	})
}

// Jobs yields the jobs, the newest first.
func (c *Client) Jobs(ctx context.Context, req *jobapi.ListRequest) iter.Seq2[jobapi.Job, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]jobapi.Job, string, error) {
		next.Page = page
		resp, err := c.ListJobs(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Jobs, resp.PageToken, nil
	})
}

// MaterializedViews yields the names of the materialized views in a namespace.
func (c *Client) MaterializedViews(ctx context.Context, req *viewapi.ListMaterializedRequest) iter.Seq2[string, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]string, string, error) {
		next.Page = page
		resp, err := c.ListMaterializedViews(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Views, resp.PageToken, nil
	})
}

// Views yields the names of the plain views in a namespace, which store no rows.
func (c *Client) Views(ctx context.Context, req *viewapi.ListRequest) iter.Seq2[string, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]string, string, error) {
		next.Page = page
		resp, err := c.ListViews(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Views, resp.PageToken, nil
	})
}

// Secrets yields the secrets in a namespace.
func (c *Client) Secrets(ctx context.Context, req *secretapi.ListRequest) iter.Seq2[secretapi.Listed, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]secretapi.Listed, string, error) {
		next.Page = page
		resp, err := c.ListSecrets(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		return resp.Secrets, resp.PageToken, nil
	})
}

// Functions yields all versions of the functions in a namespace.
func (c *Client) Functions(ctx context.Context, req *functionapi.ListRequest) iter.Seq2[functionapi.Version, error] {
	next := *req
	return pages(next.Page, func(page protocol.Page) ([]functionapi.Version, string, error) {
		next.Page = page
		resp, err := c.ListFunctions(ctx, &next)
		if err != nil {
			return nil, "", err
		}
		versions := make([]functionapi.Version, len(resp.Functions))
		for i, listed := range resp.Functions {
			versions[i] = listed.Definition
		}
		return versions, resp.PageToken, nil
	})
}

// A Tag is a named reference to a version.
type Tag struct {
	Name string
	refapi.TagContents
}

// A Branch is a separate line of versions.
type Branch struct {
	Name string
	refapi.BranchContents
}

// tags returns the tags of a response, ordered by name.
func tags(resp *refapi.ListTagsResponse) []Tag {
	var all []Tag
	for _, name := range slices.Sorted(maps.Keys(resp.Tags)) {
		all = append(all, Tag{name, resp.Tags[name]})
	}
	return all
}

// branches returns the branches of a response, ordered by name.
func branches(resp *refapi.ListBranchesResponse) []Branch {
	var all []Branch
	for _, name := range slices.Sorted(maps.Keys(resp.Branches)) {
		all = append(all, Branch{name, resp.Branches[name]})
	}
	return all
}

// pages yields the entries of all pages. list returns the entries of a page and the token of the
// next one.
func pages[T any](page protocol.Page, list func(protocol.Page) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := page
		if page.Limit == nil {
			page.Limit = new(int64(pageSize))
		}
		for {
			entries, next, err := list(page)
			// A server that repeats its token would make the loop endless.
			if err == nil && next != "" && next == page.PageToken {
				err = fmt.Errorf("%w: the page after token %.80q has the same token", ErrAnswer, next)
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
			if page.PageToken = next; next == "" {
				return
			}
		}
	}
}
