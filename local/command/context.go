package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
)

// A target is a server and its token.
type target struct {
	URL   string `json:"url"`
	Token string `json:"token,omitempty"`

	isDefault bool // no server was configured
}

// contexts contains the stored servers by name. Their file must be readable by its owner only.
type contexts struct {
	Current string            `json:"current"`
	Servers map[string]target `json:"servers"`
}

// contextsPath returns the path of the file of contexts.
func contextsPath() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "tiltyard", "contexts.json"), nil
}

// readContexts returns the stored contexts. A missing file means none. A file that others can read
// is an error, because it contains tokens.
func readContexts() (contexts, error) {
	var stored contexts
	path, err := contextsPath()
	if err != nil {
		return stored, nil //nolint:nilerr // without a home there is no file
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return stored, nil
	} else if err != nil {
		return stored, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return stored, fmt.Errorf("%s holds tokens, and others can read it; run chmod 600 on it", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return stored, err
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return stored, fmt.Errorf("%s is not readable as JSON: %w", path, err)
	}
	return stored, nil
}

// writeContexts replaces the stored contexts.
func writeContexts(stored contexts) error {
	path, err := contextsPath()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(stored, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replaceFile(path, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// replaceFile replaces a file atomically by one that only its owner can read.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// newLoginCommand stores a server and its token.
func newLoginCommand(s *session) *cobra.Command {
	var fromStdin bool
	cmd := &cobra.Command{
		Use:   "login NAME --url URL",
		Short: "Store a server and its token under a name",
		Long: `Store a server and its token under a name, and use it from now on. The token is asked for,
or read from standard input with --token-stdin. It is tried, and stored in a file that only
you can read. No command prints it.`,
		Example: `  tiltyard login work --url https://tables.example.com
  printenv TOKEN | tiltyard login local --url http://127.0.0.1:10024 --token-stdin`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.url == "" {
				return usagef("--url is required: the server to log in to")
			}
			stored, err := readContexts()
			if err != nil {
				return err
			}
			token, err := readToken(cmd, fromStdin)
			if err != nil {
				return err
			}
			c, err := client.New(s.url, client.Options{Token: token})
			if err != nil {
				return &UsageError{err}
			}
			err = s.bounded(cmd, func(ctx context.Context) error {
				// Any answer but a refusal of the token shows that the token is valid.
				_, err := c.ListNamespaces(ctx, &namespaceapi.ListRequest{Page: protocol.Page{Limit: new(int64(1))}})
				return err
			})
			if err != nil && !errors.Is(err, protocol.PermissionDenied) {
				return err
			}
			if stored.Servers == nil {
				stored.Servers = map[string]target{}
			}
			stored.Servers[args[0]], stored.Current = target{URL: s.url, Token: token}, args[0]
			if err := writeContexts(stored); err != nil {
				return err
			}
			say(cmd, "%s is %s, and the current context", args[0], s.url)
			return nil
		},
	}
	cmd.Flags().BoolVar(&fromStdin, "token-stdin", false, "read the token from standard input")
	return cmd
}

// readToken prompts for a token without echo, or reads it from standard input.
func readToken(cmd *cobra.Command, fromStdin bool) (string, error) {
	if file, ok := cmd.InOrStdin().(*os.File); ok && !fromStdin {
		if !terminal(file) {
			return "", usagef("standard input is no terminal to ask for the token; give --token-stdin to read it from there")
		}
		fmt.Fprint(cmd.ErrOrStderr(), "token: ")
		token, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		return strings.TrimSpace(string(token)), err
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 64<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// terminal reports whether a file is a terminal.
func terminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

// IsTerminal reports whether output appears on a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && terminal(file)
}

func newContextCommand(s *session) *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the stored servers", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			stored, err := readContexts()
			if err != nil {
				return err
			}
			out := s.list(cmd, "CURRENT", "NAME", "URL")
			for _, name := range slices.Sorted(maps.Keys(stored.Servers)) {
				mark := ""
				if name == stored.Current {
					mark = "*"
				}
				out.add(map[string]any{"name": name, "url": stored.Servers[name].URL, "current": name == stored.Current}, mark, name, stored.Servers[name].URL)
			}
			return out.flush()
		},
	}
	change := func(use, short string, do func(*contexts, string)) *cobra.Command {
		return &cobra.Command{
			Use: use + " NAME", Short: short, Args: exactly(1),
			RunE: func(_ *cobra.Command, args []string) error {
				stored, err := readContexts()
				if err != nil {
					return err
				}
				if _, ok := stored.Servers[args[0]]; !ok {
					return usagef("there is no context %q; tiltyard context list shows those that there are", args[0])
				}
				do(&stored, args[0])
				return writeContexts(stored)
			},
		}
	}
	return newGroup("context", "Choose among the servers that login has stored", list,
		change("use", "Use a server from now on", func(c *contexts, name string) { c.Current = name }),
		change("remove", "Forget a server and its token", func(c *contexts, name string) {
			delete(c.Servers, name)
			if c.Current == name {
				c.Current = ""
			}
		}),
	)
}
