package boot

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/storage/cloud"
)

// autoKeys is the setting for a key file beside the root.
const autoKeys = "auto"

// kmsScheme begins the ARN of a key of KMS.
const kmsScheme = "kms:"

var kmsForm = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$`)

// parseSecrets returns the path of a file of keys, a key of KMS with its scheme, autoKeys, or "" for none.
func parseSecrets(text string) (string, error) {
	path, isFile := strings.CutPrefix(text, "file:")
	arn, isKMS := strings.CutPrefix(text, kmsScheme)
	switch {
	case text == "off":
		return "", nil
	case text == autoKeys || isKMS && kmsForm.MatchString(arn):
		return text, nil
	case isFile && path != "" && !strings.HasPrefix(path, "//"):
		return filepath.Abs(path)
	}
	return "", errors.New("must be file: and a path, kms: and the ARN of a key, auto, or off")
}

// keyOfKMS returns the ARN of the key of KMS that seals secrets.
func (c Config) keyOfKMS() (arn string, ok bool) { return strings.CutPrefix(c.Secrets, kmsScheme) }

// OpenKeys opens the keys that encrypt secrets, or returns nil if none are configured. It creates
// no file and sends no request. If clients could read the key file next to the root, it logs a
// warning and returns nil.
func (e *Env) OpenKeys() (secretbox.Keys, error) {
	if arn, ok := e.keyOfKMS(); ok && e.Clients.Keys != nil {
		aws, err := e.Clients.of(cloud.Service{Name: "KMS", What: "the key of secrets in KMS", Attempt: cloud.UsualAttempt})
		if err != nil {
			return nil, fmt.Errorf("secrets: %w", err)
		}
		return e.Clients.Keys(aws, arn, e.Objects.Home().URI), nil
	}
	keys, err := e.OpenKeyFile()
	if err != nil || keys == nil {
		return nil, err // not a nil file in the interface
	}
	return keys, nil
}

// OpenKeyFile opens the key file, or returns nil if the keys are not in a file.
func (e *Env) OpenKeyFile() (*secretbox.KeyFile, error) {
	c := e.Config
	path := c.Secrets
	if _, elsewhere := c.keyOfKMS(); elsewhere || path == "" || path == autoKeys && isBucket(c.Root) {
		return nil, nil
	}
	if path == autoKeys {
		root, err := filepath.Abs(c.Root)
		if err != nil {
			return nil, fmt.Errorf("secrets: %w", err)
		}
		path = root + ".keys"
	}
	var folders []string
	for _, place := range append([]string{c.Root}, c.AllowLocations...) {
		if !isBucket(place) {
			folders = append(folders, place)
		}
	}
	keys, err := secretbox.OpenKeyFile(path, folders...)
	if err != nil && c.Secrets == autoKeys {
		e.Logger.Warn("there are no secrets, because their keys cannot lie beside the root: set secrets to another file", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	return keys, nil
}
