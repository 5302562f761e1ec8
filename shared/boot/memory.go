package boot

import (
	"bufio"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"tiltyard/shared/process/memory"
)

const (
	// usualCache is the size of the cache if there is enough memory.
	usualCache = 512 << 20
	// usualFloor is the memory of the program itself: code, stacks, connections, and caches of tables
	// and callers that are not in the cache budget.
	usualFloor = 64 << 20
	// unknownMachine is the assumed memory of a machine that does not report it.
	unknownMachine = 8 << 30
)

// divideMemory sets the sizes in the configuration that depend on the memory of the process, sets
// the limit of the Go runtime unless GOMEMLIMIT does, and returns the budget of requests and jobs.
//
//	limit of the runtime
//	├── cache-bytes            a quarter, 512 MiB at most
//	├── the program            an eighth, 64 MiB at most
//	├── the collector          a quarter of the rest: garbage lives until it is collected
//	└── memory-bytes           three quarters of the rest, and of that
//	    └── one request        three quarters, so that a large one never stops all others
func divideMemory(c *Config) *memory.Budget {
	limit := debug.SetMemoryLimit(-1) // reads the limit without changing it
	isSet := limit != math.MaxInt64
	if !isSet {
		limit = foundMemory(os.Getenv, os.DirFS("/"))
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = uint64(min(usualCache, limit/4))
	}
	taken := int64(min(c.CacheBytes, math.MaxInt64/2)) + min(usualFloor, limit/8)
	if c.MemoryBytes == 0 {
		c.MemoryBytes = max(limit-taken, limit/4) / 4 * 3
	} else if !isSet {
		limit = max(limit, taken+min(c.MemoryBytes, math.MaxInt64/4)/3*4)
	}
	if !isSet {
		debug.SetMemoryLimit(limit)
	}
	return memory.NewBudget(c.MemoryBytes, max(1, c.MemoryBytes/4*3))
}

// foundMemory returns the bytes of memory that the process should use: most of the limit of a
// function or a container, or else half of the machine, because other programs need memory as well.
func foundMemory(getenv func(string) string, root fs.FS) int64 {
	given := containerMemory(root)
	if function := functionMemory(getenv); function > 0 {
		given = min(given, function)
	}
	return min(given/20*17, machineMemory(root)/2)
}

// functionMemory returns the bytes of memory of the function that the process is, or 0.
func functionMemory(getenv func(string) string) int64 {
	mebibytes, err := strconv.ParseInt(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"), 10, 32)
	if err != nil || mebibytes < 0 {
		return 0
	}
	return mebibytes << 20
}

// containerMemory returns the memory limit of the process's control group, in version 1 or 2 of the
// cgroup file system, or the largest int64 if there is none.
func containerMemory(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	for _, folder := range controlGroups(root) {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			text, err := fs.ReadFile(root, folder+"/"+file)
			if err != nil {
				continue
			}
			if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 { // not "max"
				least = min(least, limit)
			}
		}
	}
	return least
}

// controlGroups returns the folders of the control groups of the process and of their ancestors.
// The lines of /proc/self/cgroup are number:controllers:path. A container may see its own group as
// the outermost one.
func controlGroups(root fs.FS) []string {
	const mount = "sys/fs/cgroup"
	folders := []string{mount, mount + "/memory"}
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return folders
	}
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		at := mount
		if number != "0" {
			if at += "/memory"; controllers != "memory" {
				continue
			}
		}
		for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
			at += "/" + part
			folders = append(folders, at)
		}
	}
	return folders
}

// machineMemory returns the memory of the machine, from the line "MemTotal: 16303752 kB" of
// /proc/meminfo.
func machineMemory(root fs.FS) int64 {
	file, err := root.Open("proc/meminfo")
	if err != nil {
		return unknownMachine
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if size, found := strings.CutPrefix(lines.Text(), "MemTotal:"); found {
			if kibibytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(size), " kB"), 10, 64); err == nil && kibibytes > 0 {
				return kibibytes << 10
			}
		}
	}
	return unknownMachine
}
