// Package release holds the version of the program.
package release

import "runtime/debug"

// Version returns the version of the program: a tag such as v1.2.3, or a version made of the commit;
// "(devel)" when the build has neither.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
