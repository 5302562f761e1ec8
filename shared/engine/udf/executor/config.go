package executor

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Config holds the address of an executor and the functions it accepts.
type Config struct {
	Name    string
	Address string // exec:/path, https://host/path, or lambda:arn…

	Python   string   // the Python version of its functions, such as 3.12; empty: it runs functions of kind executor only
	Packages []string // patterns of its installed packages; a pattern with a comparison matches whole requirements
	Backends []string // patterns of the backends of envelopes that it runs
	GPU      bool     // it runs functions that need a GPU

	Concurrency  int           // concurrent calls, per process of the service
	Timeout      time.Duration // of one attempt of a call
	PayloadBytes int64         // of the largest stream, in a call or in a reply

	Key string // signs calls over HTTP: file:/path or secret:name; else empty
}

// Defaults and limits of optional fields.
const (
	defaultConcurrency = 4
	maxConcurrency     = 1000
	defaultTimeout     = time.Minute
	maxTimeout         = 15 * time.Minute
	defaultPayload     = 16 << 20
	maxPayload         = 256 << 20
)

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	pythonForm = regexp.MustCompile(`^3\.[0-9]{1,2}$`)
	arnForm    = regexp.MustCompile(`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9_$-]+)?$`)
)

// Parse reads the texts of executors, separated by commas. Each is a name, an equals sign, an address, and
// options separated by spaces:
//
//	local=exec:/usr/local/bin/executor python=3.12 packages=numpy|pandas* timeout=90s
//	models=https://models.example.com/ python=3.12 gpu key=secret:models-key concurrency=8
//	cheap=lambda:arn:aws:lambda:eu-central-1:123456789012:function:executor python=3.12 payload=1MiB
func Parse(text string) ([]Config, error) {
	var configs []Config
	names := map[string]bool{}
	for one := range strings.SplitSeq(text, ",") {
		c, err := parse(one)
		if err != nil {
			return nil, err
		}
		if names[c.Name] {
			return nil, fmt.Errorf("executor %s is configured twice", c.Name)
		}
		names[c.Name] = true
		configs = append(configs, c)
	}
	return configs, nil
}

// parse parses the text of one executor: name=address, then options name=value.
func parse(text string) (Config, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Config{}, errors.New("an executor is empty; name=exec:/path, name=https://… or name=lambda:arn… is expected")
	}
	name, address, _ := strings.Cut(words[0], "=")
	if !nameForm.MatchString(name) {
		return Config{}, fmt.Errorf("%.80q is no name of an executor: a letter, then letters, digits, _ or -", name)
	}
	c := Config{Name: name, Address: address, Concurrency: defaultConcurrency, Timeout: defaultTimeout, PayloadBytes: defaultPayload}
	given := map[string]bool{}
	for _, word := range words[1:] {
		option, value, _ := strings.Cut(word, "=")
		if given[option] {
			return Config{}, fmt.Errorf("executor %s: option %.80q is given twice", name, option)
		}
		given[option] = true
		if err := c.set(option, value); err != nil {
			return Config{}, fmt.Errorf("executor %s: option %.80q %w", name, option, err)
		}
	}
	if err := c.checkAddress(); err != nil {
		return Config{}, fmt.Errorf("executor %s: %w", name, err)
	}
	return c, nil
}

// set reads the value of an option.
func (c *Config) set(option, value string) (err error) {
	switch option {
	case "python":
		if c.Python = value; !pythonForm.MatchString(value) {
			err = errors.New("must be a version such as 3.12")
		}
	case "packages":
		c.Packages, err = parsePatterns(value)
	case "backends":
		c.Backends, err = parsePatterns(value)
	case "gpu":
		if c.GPU = true; value != "" {
			err = errors.New("takes no value")
		}
	case "concurrency":
		c.Concurrency, err = strconv.Atoi(value)
		if err != nil || c.Concurrency < 1 || c.Concurrency > maxConcurrency {
			err = fmt.Errorf("must be a number from 1 to %d", maxConcurrency)
		}
	case "timeout":
		c.Timeout, err = time.ParseDuration(value)
		if err != nil || c.Timeout < time.Second || c.Timeout > maxTimeout {
			err = fmt.Errorf("must be a duration from 1s to %v", maxTimeout)
		}
	case "payload":
		c.PayloadBytes, err = parseBytes(value, maxPayload)
	case "key":
		c.Key = value
		kind, place, _ := strings.Cut(value, ":")
		if kind != "file" && kind != "secret" || place == "" || kind == "file" && !filepath.IsAbs(place) {
			err = errors.New("must be file: and an absolute path, or secret: and the id of a secret")
		}
	default:
		err = errors.New("is unknown; there are python, packages, backends, gpu, concurrency, timeout, payload and key")
	}
	return err
}

// parsePatterns parses patterns that are separated by |.
func parsePatterns(text string) ([]string, error) {
	patterns := strings.Split(text, "|")
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return nil, fmt.Errorf("holds the pattern %.80q; patterns such as numpy or pandas* are separated by |", p)
		}
	}
	return patterns, nil
}

// parseBytes parses a size in bytes, KiB or MiB, between 1 KiB and most.
func parseBytes(text string, most int64) (int64, error) {
	digits, factor := text, int64(1)
	for unit, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if number, found := strings.CutSuffix(text, unit); found {
			digits, factor = number, bytes
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/factor || n*factor < 1<<10 || n*factor > most {
		return 0, fmt.Errorf("must be a number of bytes from 1KiB to %dMiB, such as 4MiB", most>>20)
	}
	return n * factor, nil
}

const (
	execScheme   = "exec:"
	lambdaScheme = "lambda:"
)

// checkAddress validates the address, and that a key is given only for an address that uses one.
func (c *Config) checkAddress() error {
	if file, found := strings.CutPrefix(c.Address, execScheme); found {
		if !filepath.IsAbs(file) {
			return errors.New("exec: needs an absolute path")
		}
		return c.noKey()
	}
	if arn, found := strings.CutPrefix(c.Address, lambdaScheme); found {
		if !arnForm.MatchString(arn) {
			return errors.New("lambda: needs the ARN of a function, arn:aws:lambda:REGION:ACCOUNT:function:NAME")
		}
		return c.noKey()
	}
	u, err := url.Parse(c.Address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !isLocal(u) {
		return errors.New("the address must be exec:/path, lambda:arn…, or an https:// URL without a query; http:// is for this machine only")
	}
	if c.Key == "" {
		return errors.New("an executor behind a URL needs key=file:/path or key=secret:id, with which calls are signed")
	}
	return nil
}

func (c *Config) noKey() error {
	if c.Key != "" {
		return errors.New("only executors behind a URL have a key")
	}
	return nil
}

// isLocal reports whether a URL with plain HTTP leads to this machine.
func isLocal(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// ARN returns the ARN of an executor that is a Lambda function, and "" for others.
func (c Config) ARN() string {
	arn, found := strings.CutPrefix(c.Address, lambdaScheme)
	if !found {
		return ""
	}
	return arn
}

// IsCommand reports whether the executor is a command of this machine.
func (c Config) IsCommand() bool { return strings.HasPrefix(c.Address, execScheme) }
