package boot

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"tiltyard/shared/sealing"
)

// autoKeys stands for the file of keys beside the root.
const autoKeys = "auto"

// parseSecrets returns the path of a file of keys, autoKeys, or "" for none.
func parseSecrets(text string) (string, error) {
	path, isFile := strings.CutPrefix(text, "file:")
	switch {
	case text == "off":
		return "", nil
	case text == autoKeys:
		return autoKeys, nil
	case isFile && path != "" && !strings.HasPrefix(path, "//"):
		return filepath.Abs(path)
	}
	return "", errors.New("must be file: and a path, auto, or off")
}

// OpenKeys opens the file of keys that seals secrets, nil when the configuration names none. It makes
// no file. Where clients could reach the file beside the root, it writes a warning to the log and
// returns nil.
func (e *Env) OpenKeys() (*sealing.KeyFile, error) {
	c := e.Config
	path := c.Secrets
	if path == "" || path == autoKeys && isBucket(c.Root) {
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
	keys, err := sealing.OpenKeyFile(path, folders...)
	if err != nil && c.Secrets == autoKeys {
		e.Logger.Warn("there are no secrets, because their keys cannot lie beside the root: set secrets to another file", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	return keys, nil
}
