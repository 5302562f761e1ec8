package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tiltyard/local/command"
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/secretbox"
)

// secretsSettings are the settings that determine the locations of secrets and their keys.
var secretsSettings = []string{"root", "allow-location", "secrets"}

func newSecretsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Change the keys that seal secrets",
		Long: `Change the keys that seal secrets. To replace a key, add another with add-key, which
seals new values from then on, and seal the older values with it by reseal. Then remove the
former key from the file. Servers may be running: they read the file with each use.`,
	}
	add := &cobra.Command{
		Use: "add-key", Short: "Add a key to the file of keys, which seals from now on", Args: cobra.NoArgs,
		RunE: withKeys(func(cmd *cobra.Command, _ *boot.Env, keys *secretbox.KeyFile) error {
			id, err := keys.AddKey()
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "the key %s seals from now on; seal the older values with it: tiltyard secrets reseal\n", id)
			}
			return err
		}),
	}
	reseal := &cobra.Command{
		Use: "reseal", Short: "Seal all secrets with the first key of the file of keys", Args: cobra.NoArgs,
		Long: `Seal all secrets with the first key of the file of keys. A run that was interrupted is
continued by the next. Keys that seal no secret any more are listed, and can be removed.`,
		RunE: withKeys(reseal),
	}
	for _, c := range []*cobra.Command{add, reseal} {
		c.Flags().SortFlags = false
		for _, s := range boot.Settings {
			if slices.Contains(secretsSettings, s.Name) {
				addFlag(c.Flags(), s)
			}
		}
		cmd.AddCommand(c)
	}
	return cmd
}

// withKeys opens the configured stores and the file of keys, and calls run with them.
func withKeys(run func(cmd *cobra.Command, env *boot.Env, keys *secretbox.KeyFile) error) func(cmd *cobra.Command, _ []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		config, err := withoutClients(cmd)
		if err != nil {
			return err
		}
		env, err := boot.Open(config, clients, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		keys, err := env.OpenKeyFile()
		if err == nil && keys == nil {
			err = errors.New("there is no file of keys: name it with --secrets file:PATH; KMS replaces its keys itself")
		}
		if err != nil {
			return err
		}
		return run(cmd, env, keys)
	}
}

// reseal encrypts all secrets with the current key, and names the keys that are no longer used.
func reseal(cmd *cobra.Command, env *boot.Env, keys *secretbox.KeyFile) error {
	names := catalog.Open(env.Objects, env.Now)
	progress, seen := command.NewProgress(cmd, "looking for secrets"), 0
	resealed, all, err := names.Secrets.Reseal(cmd.Context(), func(ctx context.Context, id []string, sealed secretbox.Sealed) (secretbox.Sealed, bool, error) {
		seen++
		progress.Tell(seen, 0, "secrets")
		return keys.Reseal(ctx, id, sealed)
	})
	progress.End()
	fmt.Fprintf(cmd.OutOrStdout(), "%d of %d secrets sealed again\n", resealed, all)
	if err != nil {
		return err
	}
	ids, err := keys.IDs()
	for _, id := range ids[min(1, len(ids)):] {
		fmt.Fprintf(cmd.OutOrStdout(), "the key %s seals no secret: remove it from the file when the servers have run for a minute since the last add-key\n", id)
	}
	return err
}
