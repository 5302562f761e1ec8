// Package boot turns the environment into what a program is wired from: the stores, who
// may sign in, the logger, the clock and the limits. It is the only package that reads
// environment variables.
//
// [Settings] is the one table of what can be configured. [Read] asks sources for the text
// of each setting, the first one that has it wins, and reports all that is missing or
// wrong together. [Open] opens what the resulting [Config] names. Neither talks to the
// network: key sets are fetched when the first token asks for one, buckets and their
// credentials with the first request, and a function that was never called has cost
// nothing.
//
// boot stands beside the services and imports none, so that a function carries only the
// service it serves.
package boot
