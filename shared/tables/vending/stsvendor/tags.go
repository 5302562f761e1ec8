package stsvendor

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"tiltyard/shared/tables/vending"
)

// The keys of the tags of a session. Policies read them as aws:PrincipalTag/ and the key.
const (
	tenantTag    = "tiltyard-tenant"    // the first namespace of the table; tables of the root have none
	tableTag     = "tiltyard-table"     // the id of the table, with slashes between its names
	principalTag = "tiltyard-principal" // the holder of the credentials
)

// maxTagValue is the maximum length of a tag value in STS.
const maxTagValue = 256

// tagsOf returns the session tags, which policies of the account can use. It leaves out values that are too long for a
// tag, and a missing tenant: a policy that compares the tag then denies access.
func tagsOf(r vending.Request) []types.Tag {
	var tags []types.Tag
	add := func(key, value string) {
		if value != "" && len(value) <= maxTagValue {
			tags = append(tags, types.Tag{Key: aws.String(key), Value: &value})
		}
	}
	names := make([]string, len(r.Table))
	for i, name := range r.Table {
		names[i] = tagText(name, "_.:+-@")
	}
	if len(names) > 1 {
		add(tenantTag, names[0])
	}
	add(tableTag, strings.Join(names, "/"))
	add(principalTag, tagText(r.Holder, "_.:+-@/"))
	return tags
}

// tagText encodes a text with ASCII letters, digits and the bytes in plain. Each other byte becomes an equals sign and two
// hexadecimal digits, so that different texts stay different.
func tagText(text, plain string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}
