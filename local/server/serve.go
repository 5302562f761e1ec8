package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tiltyard/local/command"
	"tiltyard/local/server/handover"
	"tiltyard/local/server/prometheus"
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/engine/udf/executor/lambdaexec"
	"tiltyard/shared/events/outbox/forward/awstarget"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/process/release"
	"tiltyard/shared/service/all"
)

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the catalog in a directory",
		Long: `Serve the catalog in a directory until SIGINT or SIGTERM, which let running requests
finish; a second one does not.

At SIGUSR2 it starts the program again, which may be another release by then, with the same
arguments and environment, and hands over to it without a client noticing. If it was started
with a socket, as by systemd (LISTEN_FDS), it listens on that and not on --listen.

Every flag has an environment variable, named behind its text. A flag wins over its
variable. Prefer the variable for the token: other users of the machine see flags.
GOMEMLIMIT bounds the memory of the process as for any Go program; without it the server
chooses a limit by the container or the machine.`,
		Example: `  tiltyard serve
  TILTYARD_TOKEN=secret tiltyard serve --root /srv/tables --listen 0.0.0.0:10024
  AWS_REGION=eu-central-1 tiltyard serve --root s3://bucket/tables
  tiltyard serve --allow-location /srv/incoming --allow-location /mnt/archive
  tiltyard serve --jwks https://id.example.com/keys --issuer https://id.example.com --audience tiltyard`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, nil) },
	}
	addServeFlags(cmd)
	return cmd
}

// addServeFlags adds a flag for each setting.
func addServeFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	for _, s := range boot.Settings {
		addFlag(cmd.Flags(), s)
	}
}

// addFlag adds the flag of a setting. The default serves only the help text: a flag that is not
// given has no value, and package boot applies the default.
func addFlag(flags *pflag.FlagSet, s boot.Setting) {
	text := s.Default
	if s.Local != "" {
		text = s.Local
	}
	usage := fmt.Sprintf("%s [%s]", s.Help, s.Variable())
	flags.Var(&flagValue{shown: text, kind: s.Value, several: s.Several}, s.Name, usage)
}

// flagValue is the value of a flag. If the flag is repeated, the last text counts, or all of them
// for a list.
type flagValue struct {
	shown   string
	kind    string
	several bool
	given   []string
}

// String returns the given text, or the default.
func (v *flagValue) String() string {
	if v.given == nil {
		return v.shown
	}
	return strings.Join(v.given, ",")
}

// Set implements pflag.Value.
func (v *flagValue) Set(text string) error {
	if !v.several {
		v.given = nil
	}
	v.given = append(v.given, text)
	return nil
}

// Type returns the placeholder in the help.
func (v *flagValue) Type() string { return v.kind }

// given returns a source of the flags on the command line.
func given(flags *pflag.FlagSet) boot.Source {
	return func(s boot.Setting) (text string, ok bool) {
		flag := flags.Lookup(s.Name)
		return flag.Value.String(), flag.Changed
	}
}

// isSet reports whether a flag or its variable has a value.
func isSet(flags *pflag.FlagSet, name string) bool {
	for _, s := range boot.Settings {
		if s.Name == name {
			_, inEnvironment := boot.Environment(s)
			return flags.Changed(name) || inEnvironment
		}
	}
	return false
}

// serve opens the stores, prints its address, and answers requests until the context ends. begin, which may be nil, is called
// before the address is printed.
func serve(cmd *cobra.Command, begin func(context.Context, *boot.Env, http.Handler) error) error {
	terminal := command.IsTerminal(cmd.ErrOrStderr())
	quiet := terminal && !isSet(cmd.Flags(), "log-level")
	config, err := boot.Read(given(cmd.Flags()), boot.Environment, boot.LocalDefaults)
	if err != nil {
		return err
	}
	if quiet {
		config.LogLevel = slog.LevelWarn
	}
	made := !config.HasCredentials()
	if made {
		config.Token = rand.Text()
	}
	env, err := boot.Open(config, clients, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if quiet && config.AccessLog == "" {
		env.Audit = nil
	}
	if err := env.CheckBucket(cmd.Context()); err != nil {
		return err
	}
	if env.Queue == nil {
		env.Queue = new(memqueue.Queue)
	}
	sessions, err := openSessions(cmd.Context(), env)
	if err != nil {
		return err
	}
	services, err := openServices(env)
	if err != nil {
		return err
	}
	socket, err := handover.Open(cmd.Context(), config.Listen)
	if err != nil {
		return err
	}
	numbers := prometheus.New(release.Version(), env.Now(), env.Memory, services.CacheUsage, env.Ranges.Usage)
	env.Observers, env.Metrics = append(env.Observers, numbers.Observe), numbers.Write
	handler := newHandler(env, services, sessions)
	defer holdHeapFloor()()
	ctx, stop := context.WithCancel(cmd.Context())
	defer startSweeps(ctx, env.Records, env.Logger)()
	var secrets []string // a successor needs these in addition to the arguments and the environment
	if made {
		secrets = append(secrets, "TILTYARD_TOKEN="+config.Token)
	}
	handover.Offer(ctx, socket, env.Logger, secrets...)
	services.Worker.Traces, services.Worker.Observe = env.Traces, env.JobMeter()
	defer closeTraces(cmd.Context(), env)
	defer env.Ranges.Close()
	defer startWorker(ctx, services, env, handover.Take(ctx))()
	defer stop()
	if begin != nil {
		if err := begin(ctx, env, handler); err != nil {
			return errors.Join(err, socket.Close())
		}
	}
	g := greeting{env: env, url: "http://" + reachable(socket.Addr()) + env.BasePath, made: made}
	if linked(config, socket.Addr(), terminal) {
		g.code = sessions.NewCode()
	}
	g.print(cmd.ErrOrStderr(), terminal)
	sql, err := listenSQL(ctx, config.SQLListen, socket, env.Logger)
	if err == nil {
		sql.tls, err = tlsOf(config.SQLCertificate, config.SQLKey, env.Logger)
	}
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	wait := serveSQL(ctx, sql, handler, env)
	defer wait()
	defer stop()
	defer env.FlushUsage()
	return answer(cmd.Context(), socket, handler, env.Logger)
}

// closeTraces sends the remaining spans, within a short time.
func closeTraces(ctx context.Context, env *boot.Env) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer done()
	if err := env.Traces.Close(ctx); err != nil {
		env.Logger.Warn("the last spans were not sent", "error", err)
	}
}

// openServices opens all services over the stores of the environment, with executors and secrets.
func openServices(env *boot.Env) (all.Services, error) {
	secretKeys, err := env.OpenKeys()
	if err != nil {
		return all.Services{}, err
	}
	if err := env.AddExecutors(lambdaexec.Open(env.AWS, env.Objects.Home().Store, functions.CallsFolder), catalog.Open(env.Objects, env.Now).Secrets.ByName(secretKeys)); err != nil {
		return all.Services{}, err
	}
	target, err := env.OpenEventTarget(awstarget.Open)
	if err != nil {
		return all.Services{}, err
	}
	return all.Open(env.Stores(), all.Options{
		Uploads: env.Uploads, RequestTimeout: env.RequestTimeout, Logger: env.Logger, Memory: env.Memory, Keys: secretKeys, Runtimes: env.Runtimes,
		EventTarget: target, EventAddress: env.EventTarget,
	}), nil
}
