package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/tetratelabs/wazero"
)

// maxCached bounds the compiled code in a folder, which may be in memory. The code of a module of 2 MB
// takes about 10 MB.
const maxCached = 256 << 20

// openCache opens the folder of compiled code, and creates it if missing. It returns nil if another user
// can write to the folder, because compiled code is executed without a check.
func openCache(folder string) wazero.CompilationCache {
	if folder == "" {
		return nil
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !os.IsExist(err) {
		return nil
	}
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || !isOurs(info) {
		return nil
	}
	prune(folder)
	cache, err := wazero.NewCompilationCacheWithDir(folder)
	if err != nil {
		return nil
	}
	return cache
}

// prune deletes the oldest files until the rest is small enough. If another process needs a deleted file at
// that moment, it compiles the module again.
func prune(folder string) {
	type file struct {
		path string
		info os.FileInfo
	}
	var files []file
	var total int64
	_ = filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			files = append(files, file{path, info})
			total += info.Size()
		}
		return nil
	})
	// The oldest files are removed first.
	slices.SortFunc(files, func(a, b file) int { return a.info.ModTime().Compare(b.info.ModTime()) })
	for _, f := range files {
		if total <= maxCached {
			return
		}
		if os.Remove(f.path) == nil {
			total -= f.info.Size()
		}
	}
}

// compile compiles a module, or loads its code from the folder. If the folder is unusable, full or damaged,
// it compiles in memory.
func compile(ctx context.Context, config wazero.RuntimeConfig, folder string, module []byte) (wazero.Runtime, wazero.CompiledModule, error) {
	if cache := openCache(folder); cache != nil {
		runtime := wazero.NewRuntimeWithConfig(ctx, config.WithCompilationCache(cache))
		if compiled, err := runtime.CompileModule(ctx, module); err == nil {
			return runtime, compiled, nil
		}
		_ = runtime.Close(ctx)
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, config)
	compiled, err := runtime.CompileModule(ctx, module)
	return runtime, compiled, err
}
