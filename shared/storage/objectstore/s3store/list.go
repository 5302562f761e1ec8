package s3store

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"tiltyard/shared/storage/objectstore"
)

// maxPage is the maximal number of entries in a response of S3.
const maxPage = 1000

// List implements objectstore.Store. It leaves out objects with invalid keys, such as the "folder/"
// objects that some tools make.
func (s *Store) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	if err := objectstore.CheckList(opts); err != nil {
		return objectstore.ListPage{}, err
	}
	page, err := s.list(ctx, opts)
	if err != nil {
		return objectstore.ListPage{}, fmt.Errorf("list %q: %w", opts.Prefix, err)
	}
	return page, nil
}

// list requests pages from the server until the page of the store is full, because marks and foreign
// entries are dropped.
func (s *Store) list(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	prefix := sendable(s.prefix + opts.Prefix)
	if len(s.prefix+opts.Prefix)-len(prefix) >= utf8.UTFMax {
		return objectstore.ListPage{}, ctx.Err() // no key begins with the rest of this text
	}
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
	if opts.Delimiter != "" {
		in.Delimiter = &opts.Delimiter
	}
	if after := startAfter(opts); after != "" {
		in.StartAfter = aws.String(sendable(s.prefix + after))
	}
	var page objectstore.ListPage
	for {
		limit := maxPage
		if opts.Limit > 0 {
			limit = min(maxPage, opts.Limit-len(page.Objects)-len(page.Prefixes))
		}
		in.MaxKeys = aws.Int32(int32(limit))
		out, err := s.listOnce(ctx, in)
		if err != nil {
			return objectstore.ListPage{}, err
		}
		before := len(page.Objects)
		if err := s.add(&page, out, opts); err != nil {
			return objectstore.ListPage{}, err
		}
		unmarked, err := s.withoutMarks(ctx, page.Objects[before:])
		if err != nil {
			return objectstore.ListPage{}, err
		}
		page.Objects = page.Objects[:before+len(unmarked)]
		slices.Sort(page.Prefixes) // SeaweedFS lists b/ before b!/
		if !aws.ToBool(out.IsTruncated) {
			return page, nil
		}
		if opts.Limit > 0 && len(page.Objects)+len(page.Prefixes) >= opts.Limit {
			page.More = true
			return page, nil
		}
		if aws.ToString(out.NextContinuationToken) == "" {
			return objectstore.ListPage{}, fmt.Errorf("%w: the page is not the last, but has no continuation token", errBroken)
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

func (s *Store) listOnce(ctx context.Context, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	return read(ctx, s, "list", *in.Prefix, 0, func(ctx context.Context, _ *attempt) (*s3.ListObjectsV2Output, error) {
		in := *in
		return s.client.ListObjectsV2(ctx, &in)
	})
}

// startAfter returns the start for the server's listing. If opts.StartAfter is in a folder that is listed
// as a common prefix, the listing must start after the whole folder; otherwise S3 would return the prefix
// again.
func startAfter(opts objectstore.ListOptions) string {
	below, ok := strings.CutPrefix(opts.StartAfter, opts.Prefix)
	if !ok || opts.Delimiter == "" {
		return opts.StartAfter
	}
	end := strings.Index(below, opts.Delimiter)
	if end < 0 {
		return opts.StartAfter
	}
	return opts.StartAfter[:len(opts.Prefix)+end+1] + string(utf8.MaxRune)
}

// sendable cuts text before the first byte that no key in a bucket can contain. A key that is
// greater than text is also greater than the result.
func sendable(text string) string {
	text = text[:min(len(text), maxKeyBytes)]
	for i, r := range text {
		if r == 0 || r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return text[:i]
		}
	}
	return text
}

// add appends the requested entries of out to page. The server may return more, because it accepts only
// whole characters in a prefix.
func (s *Store) add(page *objectstore.ListPage, out *s3.ListObjectsV2Output, opts objectstore.ListOptions) error {
	wanted := func(key string) bool { return key > opts.StartAfter && strings.HasPrefix(key, opts.Prefix) }
	for _, o := range out.Contents {
		key, err := s.listedKey(o.Key, out.EncodingType)
		if err != nil {
			return err
		}
		if !wanted(key) || objectstore.CheckKey(key) != nil {
			continue
		}
		info, err := infoOfRead(key, aws.ToInt64(o.Size), o.ETag, o.LastModified)
		if err != nil {
			return err
		}
		page.Objects = append(page.Objects, info)
	}
	for _, p := range out.CommonPrefixes {
		prefix, err := s.listedKey(p.Prefix, out.EncodingType)
		if err != nil {
			return err
		}
		if !wanted(prefix) || objectstore.CheckKey(strings.TrimSuffix(prefix, "/")) != nil {
			continue
		}
		page.Prefixes = append(page.Prefixes, prefix)
	}
	return nil
}

// listedKey converts a key of a listing to a key of the store.
func (s *Store) listedKey(text *string, encoding types.EncodingType) (string, error) {
	key, err := decoded(text, encoding)
	if err != nil {
		return "", err
	}
	below, ok := strings.CutPrefix(key, s.prefix)
	if !ok {
		return "", fmt.Errorf("the server listed %.80q, which is outside of %q", key, s.prefix)
	}
	return below, nil
}

// decoded decodes a key of a listing. The store requests URL encoding, in which a plus stands for a space,
// because keys may contain characters that XML does not allow.
func decoded(text *string, encoding types.EncodingType) (string, error) {
	key := aws.ToString(text)
	if encoding != types.EncodingTypeUrl {
		return key, nil
	}
	key, err := url.QueryUnescape(key)
	if err != nil {
		return "", fmt.Errorf("decode key: %w", err)
	}
	return key, nil
}
