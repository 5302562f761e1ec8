package boot

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestMemoryOfTheProcessIsFound(t *testing.T) {
	const meminfo = "MemTotal:       16777216 kB\nMemFree:        1 kB\n" // 16 GiB
	cases := []struct {
		name   string
		lambda string
		files  map[string]string
		want   int64
	}{
		{"nothing tells", "", nil, unknownMachine / 2},
		{"a machine", "", map[string]string{"proc/meminfo": meminfo}, 8 << 30},
		{"a function", "2000", map[string]string{"proc/meminfo": meminfo}, 1700 << 20},
		{"a container", "", map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "1048576000\n"}, 891289600},
		{"a container without a limit", "", map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "max\n"}, 8 << 30},
		{"an older container", "", map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576000\n"}, 891289600},
		{"an older container without a limit", "", map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8 << 30},
		{"groups in groups", "", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/memory.max":           "1048576000\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "2097152000\n",
		}, 891289600},
		{"an older group", "", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu:/x\n2:memory:/docker/1\n",
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "1048576000\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes":        "1\n",
		}, 891289600},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			getenv := func(string) string { return c.lambda }
			if got := foundMemory(getenv, root); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestMemoryIsDivided(t *testing.T) {
	const MiB = 1 << 20
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	cases := []struct {
		name                        string
		limit                       int64
		given                       Config
		wantCache, wantMemory, most int64
	}{
		{"little", 64 * MiB, Config{}, 16 * MiB, 30 * MiB, 23 * MiB},
		{"usual", 512 * MiB, Config{}, 128 * MiB, 240 * MiB, 180 * MiB},
		{"much", 16384 * MiB, Config{}, 512 * MiB, 11856 * MiB, 8892 * MiB},
		{"as said", 512 * MiB, Config{CacheBytes: 1 * MiB, MemoryBytes: 100 * MiB}, 1 * MiB, 100 * MiB, 75 * MiB},
		{"a cache beyond it", 512 * MiB, Config{CacheBytes: 1024 * MiB}, 1024 * MiB, 96 * MiB, 72 * MiB},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			debug.SetMemoryLimit(c.limit)
			budget := divideMemory(&c.given)
			if got := int64(c.given.CacheBytes); got != c.wantCache {
				t.Errorf("the cache gets %d, want %d", got, c.wantCache)
			}
			if budget.Limit() != c.wantMemory {
				t.Errorf("requests get %d, want %d", budget.Limit(), c.wantMemory)
			}
			share := budget.Open()
			if share.Try(c.most + MiB) {
				t.Errorf("one request may hold more than %d", c.most)
			}
			if debug.SetMemoryLimit(-1) != c.limit {
				t.Error("the limit that was set is another one now")
			}
		})
	}
}

func TestDivideMemoryLimitsTheRuntime(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	divideMemory(&Config{MemoryBytes: 1 << 40})
	if got := debug.SetMemoryLimit(math.MaxInt64); got < 1<<40 || got == math.MaxInt64 {
		t.Errorf("the limit is %d, want what requests may hold and some more", got)
	}
	c := Config{}
	divideMemory(&c)
	if got := debug.SetMemoryLimit(-1); got <= c.MemoryBytes || got == math.MaxInt64 {
		t.Errorf("the limit is %d, of which requests may hold %d", got, c.MemoryBytes)
	}
}
