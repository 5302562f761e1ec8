package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Config is the configuration in the context of the app. The comment of each field begins
// with the name of its value.
type Config struct {
	Stage string // stage: part of the names of the stacks; dev, prod, …

	// Clients sign in with JSON Web Tokens of this issuer.
	Issuer   string // issuer: the iss that tokens must have, https://
	Audience string // audience: the aud that tokens must have
	JWKS     string // jwks: https:// URL of the issuer's keys
	JWTType  string // jwt-type: the typ that tokens must have; any when empty

	Gateway    string // gateway: http (the default) or rest, which WAF can stand in front of
	Authorizer string // authorizer: function (the default), or gateway to refuse bad tokens there, too; see api.go

	Stream         bool     // stream: answers beyond 6 MB, as they are made: by a REST API, or beside an HTTP API by the URL of a function; false
	Vending        bool     // vending: describing a table gives temporary credentials for its data to those who may read it; false
	Secrets        bool     // secrets: a key of KMS that seals secrets, the values for functions; false
	Executors      string   // executors: where functions of Python run, as the setting executor has it: NAME=lambda:arn… and NAME=https://…
	AllowLocations []string // allow-locations: more s3://bucket/prefix whose tables may be registered, separated by commas

	Architecture string // architecture: arm64 (the default) or amd64; what the functions were built for
	Memory       int    // memory: MiB of functions that handle names; 512
	DataMemory   int    // data-memory: MiB of functions that read and write rows; 2048
	Provisioned  int    // provisioned-concurrency: instances of each function of the gateway that are kept warm; 0
	Workers      int    // workers: jobs that run at once; 10

	LogDays    int    // log-days: how long logs are kept; 30
	Tracing    bool   // tracing: X-Ray; false
	AlarmTopic string // alarm-topic: ARN of the SNS topic that hears of alarms; nobody when empty
	Throw      bool   // throw-away: destroying the stack destroys what it keeps, a bucket only when it is empty; false
	KMS        bool   // kms: encrypt with a key of its own in place of those that S3 and DynamoDB manage; false

	Domain      string // domain: of the API, api.example.com; needs certificate
	Certificate string // certificate: ARN in the region of the stack
	WebACL      string // web-acl: ARN of a regional WAF web ACL; needs gateway=rest

	Image string // image: of the server, repository:tag; makes a Fargate service for bodies that functions cannot take; needs certificate

	Functions string // functions: folder of the built functions; ../bin/functions
}

// ReadConfig reads the values that context returns by name; nil means that a value is not
// set. The error lists everything that is missing or wrong.
func ReadConfig(context func(name string) any) (Config, error) {
	r := reader{context: context}
	c := Config{
		Stage:          r.match("stage", "dev", regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)),
		Issuer:         r.https("issuer"),
		Audience:       r.text("audience", ""),
		JWKS:           r.https("jwks"),
		JWTType:        r.text("jwt-type", ""),
		Gateway:        r.oneOf("gateway", "http", "rest"),
		Authorizer:     r.oneOf("authorizer", "function", "gateway"),
		Stream:         r.flag("stream"),
		Vending:        r.flag("vending"),
		Secrets:        r.flag("secrets"),
		Executors:      r.executors("executors"),
		AllowLocations: r.locations("allow-locations"),
		Architecture:   r.oneOf("architecture", "arm64", "amd64"),
		Memory:         r.number("memory", 512, 128, 10240),
		DataMemory:     r.number("data-memory", 2048, 256, 10240),
		Provisioned:    r.number("provisioned-concurrency", 0, 0, 1000),
		Workers:        r.number("workers", 10, 2, 1000),
		LogDays:        r.days("log-days", 30),
		Tracing:        r.flag("tracing"),
		AlarmTopic:     r.arn("alarm-topic"),
		Throw:          r.flag("throw-away"),
		KMS:            r.flag("kms"),
		Domain:         r.match("domain", "", regexp.MustCompile(`^([a-z0-9-]+\.)+[a-z]{2,}$`)),
		Certificate:    r.arn("certificate"),
		WebACL:         r.arn("web-acl"),
		Image:          r.text("image", ""),
		Functions:      r.text("functions", "../bin/functions"),
	}
	r.require("issuer", c.Issuer)
	r.require("audience", c.Audience)
	r.require("jwks", c.JWKS)
	r.forbid(c.Authorizer == "gateway" && c.Gateway == "rest", "authorizer: only gateway=http verifies tokens itself")
	r.forbid(c.WebACL != "" && c.Gateway != "rest", "web-acl: needs gateway=rest")
	r.forbid(c.Domain != "" && c.Certificate == "", "domain: needs a certificate")
	r.forbid(c.Image != "" && c.Certificate == "", "image: its load balancer needs a certificate")
	return c, errors.Join(r.wrong...)
}

// A reader reads values of the context and collects their errors.
type reader struct {
	context func(name string) any
	wrong   []error
}

func (r *reader) fail(name, format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Errorf("%s: "+format, append([]any{name}, args...)...))
}

func (r *reader) require(name, value string) {
	if value == "" {
		r.fail(name, "is not set")
	}
}

func (r *reader) forbid(wrong bool, message string) {
	if wrong {
		r.wrong = append(r.wrong, errors.New(message))
	}
}

// text reads a value. Values of the command line are texts, those of cdk.json can have any
// type.
func (r *reader) text(name, fallback string) string {
	switch value := r.context(name).(type) {
	case nil:
		return fallback
	case string:
		return strings.TrimSpace(value)
	case bool, float64:
		text, _ := json.Marshal(value) // never fails
		return string(text)
	default:
		r.fail(name, "must be a text")
		return fallback
	}
}

func (r *reader) match(name, fallback string, form *regexp.Regexp) string {
	text := r.text(name, fallback)
	if text != "" && !form.MatchString(text) {
		r.fail(name, "must match %s", form)
	}
	return text
}

func (r *reader) https(name string) string {
	text := r.text(name, "")
	u, err := url.Parse(text)
	local := err == nil && u.Scheme == "http" && u.Hostname() == "127.0.0.1" // a stand-in on this machine
	if text != "" && (err != nil || u.Host == "" || u.Scheme != "https" && !local) {
		r.fail(name, "must be an https:// URL")
	}
	return text
}

// oneOf reads one of the choices. The first is the default.
func (r *reader) oneOf(name string, choices ...string) string {
	text := r.text(name, choices[0])
	for _, choice := range choices {
		if text == choice {
			return text
		}
	}
	r.fail(name, "must be one of %s", strings.Join(choices, ", "))
	return choices[0]
}

func (r *reader) number(name string, fallback, least, most int) int {
	n, err := strconv.Atoi(r.text(name, strconv.Itoa(fallback)))
	if err != nil || n < least || n > most {
		r.fail(name, "must be a number from %d to %d", least, most)
		return fallback
	}
	return n
}

// days reads how long logs are kept. CloudWatch accepts certain numbers only.
func (r *reader) days(name string, fallback int) int {
	n := r.number(name, fallback, 1, 3653)
	if _, ok := retentions[n]; !ok {
		r.fail(name, "must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653")
	}
	return n
}

func (r *reader) flag(name string) bool { return r.oneOf(name, "false", "true") == "true" }

func (r *reader) arn(name string) string {
	return r.match(name, "", regexp.MustCompile(`^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:.+$`))
}

// executors reads a setting that the worker parses. Only its form is checked here, and that there are no
// commands, which functions do not start.
func (r *reader) executors(name string) string {
	text := r.text(name, "")
	if text == "" {
		return ""
	}
	form := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*=(https://|lambda:arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9_$-]+)?( |$))`)
	for _, one := range strings.Split(text, ",") {
		if !form.MatchString(strings.TrimSpace(one)) {
			r.fail(name, "%q must begin with NAME=lambda:arn… or NAME=https://…", one)
		}
	}
	return text
}

// executorARNs returns the ARNs of the executors that are functions.
func (c Config) executorARNs() []*string {
	var arns []*string
	for _, one := range strings.Split(c.Executors, ",") {
		address, _, _ := strings.Cut(strings.TrimSpace(one), " ")
		if _, arn, found := strings.Cut(address, "=lambda:"); found {
			arns = append(arns, &arn)
		}
	}
	return arns
}

func (r *reader) locations(name string) []string {
	text := r.text(name, "")
	if text == "" {
		return nil
	}
	form := regexp.MustCompile(`^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^*?${}]*)?$`)
	places := strings.Split(text, ",")
	for i, place := range places {
		places[i] = strings.TrimSuffix(strings.TrimSpace(place), "/")
		if !form.MatchString(places[i]) {
			r.fail(name, "%q is not s3://bucket/prefix", place)
		}
	}
	return places
}
