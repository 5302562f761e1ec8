package boot

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/eventapi"
)

// parsePlace accepts a path, a file URL with a percent-encoded path, or the URL of a bucket. It
// returns a path, or the URL of the bucket.
func parsePlace(text string) (place string, err error) {
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case !isURL:
		return text, nil
	case strings.EqualFold(scheme, "s3"):
		return parseBucket(bucketScheme + rest)
	case !strings.EqualFold(scheme, "file"):
		return "", errors.New("must be a path, a file:// URL, or s3://bucket/prefix")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host != "" || u.RawQuery != "" || u.Fragment != "" || !filepath.IsAbs(u.Path) {
		return "", errors.New("must be file:/// and an absolute path, percent-encoded")
	}
	return u.Path, nil
}

// parseBucket checks an s3:// URL. It refuses directory buckets, because their listings are not
// sorted.
func parseBucket(text string) (place string, err error) {
	u, err := parseAnyBucket(text)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(u.Host, "--x-s3") {
		return "", errors.New("names a directory bucket (S3 Express One Zone), which lists in no order; take a general purpose bucket")
	}
	return text, nil
}

// parseAnyBucket checks an s3:// URL.
func parseAnyBucket(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.Host != u.Hostname() || u.User != nil || strings.ContainsAny(text, "?#") {
		return nil, errors.New("must be s3://bucket/prefix, percent-encoded; the region and the endpoint are those of the AWS environment")
	}
	return u, nil
}

// parsePlaces accepts places separated by commas. A comma within a name must be percent-encoded in
// a URL.
func parsePlaces(text string) (places []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		place, err := parsePlace(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if place == "" {
			return nil, errors.New("contains an empty path")
		}
		places = append(places, place)
	}
	return places, nil
}

// parseAddress checks a host and a port. The host may be empty.
func parseAddress(text string) (address string, err error) {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", errors.New("must be host:port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", errors.New("must be host:port with a port of at most 65535")
	}
	return text, nil
}

// parseAddressOrOff checks a host and a port, or off.
func parseAddressOrOff(text string) (string, error) {
	if text == "off" {
		return text, nil
	}
	address, err := parseAddress(text)
	if err != nil {
		return "", errors.New("must be host:port or off")
	}
	return address, nil
}

// parseKeySet accepts a file or a URL. On plain http an attacker could replace the keys, so http is
// allowed for addresses of this machine only.
func parseKeySet(text string) (fileOrURL string, err error) {
	if !isURL(text) {
		return text, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", errors.New("is not a URL")
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && local {
		return text, nil
	}
	return "", errors.New("must be an https:// URL, or http:// on this machine, or a file")
}

func isURL(text string) bool { return strings.Contains(text, "://") }

// parseBasePath removes the final slash of a path, so that routes can be appended.
func parseBasePath(text string) (path string, err error) {
	if !strings.HasPrefix(text, "/") {
		return "", errors.New("must begin with a slash")
	}
	return strings.TrimSuffix(text, "/"), nil
}

func parseLogFormat(text string) (plain bool, err error) {
	switch text {
	case "text":
		return true, nil
	case "json":
		return false, nil
	}
	return false, errors.New("must be text or json")
}

// parseConsoleLink accepts a switch, or auto.
func parseConsoleLink(text string) (string, error) {
	if text != "auto" && text != "on" && text != "off" {
		return "", errors.New("must be auto, on or off")
	}
	return text, nil
}

func parseTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a positive duration, such as 90s or 5m")
	}
	return d, nil
}

// parseDurationOr accepts a positive duration, or a word for 0.
func parseDurationOr(word, text string) (time.Duration, error) {
	if text == word {
		return 0, nil
	}
	d, err := parseTimeout(text)
	if err != nil {
		return 0, fmt.Errorf("%w, or %s", err, word)
	}
	return d, nil
}

// parseRetention parses the retention of dropped tables.
func parseRetention(text string) (time.Duration, error) {
	d, err := protocol.ParseDropRetention(text)
	if err != nil {
		return 0, errors.New("must be a duration from 0 to 36500d, such as 7d or 36h")
	}
	return d, nil
}

// parseSource accepts the source of events: a URI or a relative reference, as CloudEvents requires.
func parseSource(text string) (string, error) {
	const maxSourceBytes = 200
	if _, err := url.Parse(text); err != nil || len(text) > maxSourceBytes || strings.ContainsAny(text, " \t\n\"<>") {
		return "", errors.New("must be a URI, such as urn:lake:production or https://example.com/lake, of up to 200 bytes")
	}
	return text, nil
}

// parseEventRetention parses the retention of events.
func parseEventRetention(text string) (time.Duration, error) {
	d, err := protocol.ParseDropRetention(text)
	if err != nil || d < eventapi.MinRetention {
		return 0, errors.New("must be a duration from 1d to 36500d, such as 7d")
	}
	return d, nil
}

// units are the suffixes of a number of bytes.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}

// parseBytes accepts a positive number of bytes, without a unit or in KiB, MiB, GiB or TiB.
func parseBytes(text string) (int64, error) {
	digits, factor := text, int64(1)
	for _, unit := range units {
		if number, found := strings.CutSuffix(text, unit.name); found {
			digits, factor = strings.TrimSpace(number), unit.bytes
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/factor {
		return 0, errors.New("must be a positive number of bytes, such as 1048576 or 512MiB")
	}
	return n * factor, nil
}

// parseAuto accepts a number of bytes, or auto, for which it returns 0.
func parseAuto[N int64 | uint64](text string) (N, error) {
	if text == "auto" {
		return 0, nil
	}
	n, err := parseBytes(text)
	return N(n), err
}

func parseCount(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, errors.New("must be a positive number")
	}
	return int(n), nil
}

// parseParts accepts lambda for the function itself, lambda: with the name or ARN of another one, and a URL.
func parseParts(text string) (string, error) {
	if text == ownFunction {
		return text, nil
	}
	if name, found := strings.CutPrefix(text, "lambda:"); found {
		if name == "" || strings.ContainsAny(name, "/? \t") {
			return "", errors.New("lambda: needs the name or the ARN of a function")
		}
		return text, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be lambda, lambda: and a function, or the URL of servers, without a user and a query")
	}
	return strings.TrimSuffix(text, "/"), nil
}

// parseTogether accepts the number of parts of a query.
func parseTogether(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1000 {
		return 0, errors.New("must be a number from 1 to 1000")
	}
	return n, nil
}
