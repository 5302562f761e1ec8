// Package simulation proves, as far as testing can, that the service keeps its promises when
// everything around it fails. It has tests and nothing else.
//
// A history is a few clients sending requests to a few function instances, which are the
// real thing: the handler of all services, caches of their own, and below them, in one history
// of ten, the real clients of S3 and DynamoDB. In one of four the records lie in the bucket, too.
// What they talk to is simulated: a bucket and a table that answer the
// requests of the AWS clients in memory. Every request to them is parked until the scheduler
// lets it go, one at a time, so a seed decides in which order things happen, and what goes
// wrong:
//
//   - an instance dies, at any request, before or after it was carried out
//   - an answer is lost after the write took place, or before
//   - a write is carried out long after everybody has given it up
//   - S3 answers 500, 503 or 409 ConditionalRequestConflict
//   - an instance freezes and goes on when its leases have run out
//   - clocks differ between instances
//   - clients send a request again, or twice at once
//
// Time is that of a testing/synctest bubble and passes only when the scheduler says so, and
// randomness is seeded (chance_test.go): the same seed is the same history. What is not seeded
// are the pauses between attempts. They end when nothing else can happen, in any order, which
// may show in the order of the lines of one step, and hardly ever in more.
// The histories are divided among as many processes as there are processors.
//
// Each history is checked in two ways. What clients were told has to be linearizable against
// a small model of the operations (porcupine), where a request without an answer may have
// happened at any time or never: that is, acknowledged writes are there exactly once, others
// are whole or absent, one creator wins a name and one writer a version, a batch makes all of
// its versions or none. And when the storm is over, a fresh instance has to be able to do
// everything: nothing needs an operator.
//
// What a store cannot rule out, the models allow, and say why: a put that nobody has an answer
// to any more may be carried out late, where a name or a version was deleted (orphans that a
// sweep takes away; versions that nobody was told of), and the first batch that names a table
// may give way there to a writer that did not know of it.
//
// The checkers are proven, too: bugs_test.go plants bugs, and each has to be found.
//
//	go test ./local/simulation                  all of it
//	GODEBUG=asyncpreemptoff=1 go test ./local/simulation -run TestRandomHistoriesAreLinearizable -seed 1234 -v
//	go test ./local/simulation -run TestRandomHistoriesAreLinearizable -seeds 100000
package simulation
