// Command collect writes the licences of all third-party works in the tiltyard program to a file:
// of the modules that are linked on any platform of a release, of Go, and of data in the tree.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ofData maps works that are not modules to the files of their licences, relative to the root of
// the tree.
var ofData = map[string]string{
	"Snowball stemmers and stop words":              "shared/index/snowball/COPYING",
	"Stop words of NLTK and Stopwords ISO":          "shared/index/fulltext/stopwords/README.md",
	"Unicode and ICU data of word boundaries":       "shared/index/fulltext/internal/wordbreak/LICENSE",
	"Scripts and styles of the pages of the server": "shared/http/console/static/console/vendor/NOTICE.txt",
}

var platforms = []string{"linux", "darwin", "windows"}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "collect:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("name the file to write")
	}
	places, err := exec.CommandContext(ctx, "go", "env", "GOMOD", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("find the module and the Go distribution: %w", err)
	}
	mod, goroot, _ := strings.Cut(strings.TrimSpace(string(places)), "\n")
	top := filepath.Dir(mod)
	works := map[string][]string{} // names of works by text of the licence
	for name, file := range ofData {
		text, err := os.ReadFile(filepath.Join(top, file))
		if err != nil {
			return err
		}
		works[string(text)] = append(works[string(text)], name)
	}
	golang, err := os.ReadFile(filepath.Join(goroot, "LICENSE"))
	if err != nil {
		return err
	}
	works[string(golang)] = append(works[string(golang)], "Go standard library and runtime")
	modules, err := linked(ctx, top)
	if err != nil {
		return err
	}
	for name, dir := range modules {
		text, err := licence(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		works[text] = append(works[text], name)
	}
	return os.WriteFile(args[0], format(works), 0o644)
}

// linked returns the folders of the modules that are linked on any platform, by path and version.
func linked(ctx context.Context, top string) (map[string]string, error) {
	modules := map[string]string{}
	for _, platform := range platforms {
		list := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Module", "./local/server")
		list.Dir, list.Env = top, append(list.Environ(), "GOOS="+platform, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages of %s: %w", platform, err)
		}
		for packages := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := packages.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module != nil && !p.Module.Main {
				modules[p.Module.Path+" "+p.Module.Version] = p.Module.Dir
			}
		}
	}
	return modules, nil
}

var ofLicence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licence returns the texts of all licence files in the root of a module, joined. A module inside a repository may have
// its licence in the repository's root.
func licence(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, e := range entries {
		if e.IsDir() || !ofLicence.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(string(text)))
	}
	if len(texts) == 0 {
		return "", errors.New("the module has no file of a licence")
	}
	return strings.Join(texts, "\n\n"), nil
}

// format returns the texts, each below the names of its works, ordered by the first names.
func format(works map[string][]string) []byte {
	for _, names := range works {
		slices.Sort(names)
	}
	texts := slices.SortedFunc(maps.Keys(works), func(a, b string) int { return strings.Compare(works[a][0], works[b][0]) })
	var out bytes.Buffer
	out.WriteString("Tiltyard contains the works of others that are named below, each list above the licence of its works.\n")
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n\n    %s\n\n%s\n", strings.Repeat("=", 80), strings.Join(works[text], "\n    "), strings.TrimSpace(text))
	}
	return out.Bytes()
}
