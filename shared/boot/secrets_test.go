package boot

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tiltyard/shared/catalog/secretbox/kmskeys"
)

func TestKeysOfSecretsLieWhereNoClientReaches(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1")
	base := t.TempDir()
	root, allowed := filepath.Join(base, "root"), filepath.Join(base, "allowed")
	for _, folder := range []string{root, allowed} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, secrets string
		allow         []string
		there         bool
		warns, fails  string
	}{
		{name: "off"},
		{name: "beside the root", secrets: autoKeys, there: true},
		{name: "beside the root, which clients reach", secrets: autoKeys, allow: []string{base}, warns: "there are no secrets"},
		{name: "a file", secrets: filepath.Join(base, "keys"), there: true},
		{name: "a file below the root", secrets: filepath.Join(root, "keys"), fails: "lies inside of"},
		{name: "a file at a place of tables", secrets: filepath.Join(allowed, "keys"), allow: []string{allowed}, fails: "lies inside of"},
		{name: "a key of KMS", secrets: "kms:arn:aws:kms:eu-central-1:123456789012:key/1", there: true},
		{name: "a file in no folder", secrets: filepath.Join(base, "missing", "keys"), fails: "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			env, err := Open(Config{Root: root, Token: "t", Secrets: c.secrets, AllowLocations: c.allow}, everyClient, &log)
			if err != nil {
				t.Fatal(err)
			}
			if log.Len() > 0 {
				t.Errorf("opening logs %s", &log)
			}
			keys, err := env.OpenKeys()
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("got error %v, want %q", err, c.fails)
			}
			if (keys != nil) != c.there {
				t.Errorf("got keys %v, want some: %v", keys, c.there)
			}
			if c.warns == "" && log.Len() > 0 || !strings.Contains(log.String(), c.warns) {
				t.Errorf("got log %q, want %q", &log, c.warns)
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(base, "*keys*")); err != nil || len(left) > 0 {
		t.Errorf("opening makes %v, %v", left, err)
	}
}

func TestFunctionsHaveNoFilesOfKeys(t *testing.T) {
	for _, s := range Settings {
		t.Setenv(s.Variable(), "")
	}
	t.Setenv("TILTYARD_ROOT", t.TempDir())
	t.Setenv("TILTYARD_TOKEN", "t")
	t.Setenv("TILTYARD_SECRETS", "file:/srv/keys")
	if _, err := openFromEnv(Clients{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "TILTYARD_SECRETS") {
		t.Errorf("got error %v, want one that names the setting", err)
	}
	t.Setenv("TILTYARD_SECRETS", "kms:arn:aws:kms:eu-central-1:123456789012:key/1")
	env, err := openFromEnv(Clients{Keys: kmskeys.Open}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	if keys, err := env.OpenKeys(); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("got %v, %v", keys, err)
	}
}
