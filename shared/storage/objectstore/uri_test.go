package objectstore_test

import (
	"fmt"
	"strings"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

func TestTextOfAURIHoldsNoSecret(t *testing.T) {
	cases := []struct{ uri, want string }{
		{"s3://bucket/a/b", "s3://bucket/a/b"},
		{"s3://user:secret@bucket/a", "s3://bucket/a"},
		{"s3://user:sec/ret@bucket/a", "s3://bucket/a"},
		{"s3://user:sec@ret@bucket/a", "s3://bucket/a"},
		{"s3:user:secret@bucket/a", "bucket/a"},
		{"user:secret@bucket/a", "bucket/a"},
		{"s3://bucket/a?X-Amz-Signature=secret", "s3://bucket/a"},
		{"s3://bucket/a#secret", "s3://bucket/a"},
		{"s3://bucket/a#b?secret", "s3://bucket/a"},
		{"s3://bucket/a@b/c", "s3://bucket/a@b/c"},
		{"user@file.lance", "user@file.lance"},
		{"/data/a%20b", "/data/a%20b"},
		{"data/one@two.lance", "data/one@two.lance"},
		{"file:///data/a", "file:///data/a"},
		{"", ""},
	}
	for _, c := range cases {
		for _, verb := range []string{"%s", "%v", "%q"} {
			want := strings.ReplaceAll(fmt.Sprintf(verb, "X"), "X", c.want)
			if got := fmt.Sprintf(verb, objectstore.URI(c.uri)); got != want {
				t.Errorf("%s of %q: got %s, want %s", verb, c.uri, got, want)
			}
		}
	}
}
