package boot

import (
	"errors"
	"fmt"
	"log/slog"
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

// openKeys opens the file of keys that the configuration names, nil when there is none. It makes no
// file. The file beside the root is not used when clients could reach it.
func openKeys(c Config, log *slog.Logger) (*sealing.KeyFile, error) {
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
		log.Warn("there are no secrets, because their keys cannot lie beside the root: set secrets to another file", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	return keys, nil
}
