// Package boot turns the environment into the parts that a program is built from: the stores, the
// verifier of credentials, the logger, the clock and the limits. It is the only package that reads
// environment variables.
//
// [Settings] is the one table of all settings. [Read] looks up the text of each setting in several
// sources, of which the first that has it wins, and reports all missing and wrong settings
// together. [Open] opens what the resulting [Config] names. Neither uses the network: the first
// token fetches the key set, and the first request connects to buckets and gets credentials, so a
// function that is never called costs nothing.
//
// boot stands beside the services and imports none of them, so that a function contains only the
// services that it serves.
package boot
