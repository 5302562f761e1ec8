#!/bin/sh
# Run the Go tests, with the race detector for packages whose goroutines share data. The detector
# makes tests six times slower, and decoders share no data. So where tests of very many cases have a
# short form, the detector runs the short form, and all cases run without it. The detector needs a C compiler;
# with WITHOUT=race the tests run without it, and with WITHOUT=ministack without S3 and DynamoDB.
# The command line, the tools, and packages of the engine that start no goroutines do one thing after the other; they and
# the stand-ins run without it.
# Tests that count work or memory, and those in which one thing happens after the other, run without the detector only.
# With the race detector go test does not vet: make lint does.
# The arguments are those of go test: -short shortens the tests of many random cases. SIMULATION has further
# arguments for the simulation, which takes minutes.
set -eu
cd "$(dirname "$0")/.."
# Run with a stand-in for S3 and DynamoDB, unless the environment names one already.
[ -n "${TILTYARD_TEST_S3+named}" ] || exec env TILTYARD_TEST_S3= scripts/ministack.sh scripts/test-go.sh "$@"
case " ${WITHOUT:-} ${GOFLAGS:-} " in *" race "* | *" -vet=off "*) ;; *) export GOFLAGS="${GOFLAGS:-} -vet=off" ;; esac
# The simulation takes minutes and lets one goroutine run at a time: it runs beside the others.
simulated=tiltyard/local/simulation
[ -n "${BESIDE_SIMULATION:-}" ] || exec env BESIDE_SIMULATION=1 scripts/beside.sh "go test -timeout 20m $* ${SIMULATION:-} $simulated" scripts/test-go.sh "$@"
concurrent=$(go list ./... | grep -vxF "$simulated" | grep -E '^tiltyard/(local|shared/(arrow/take|catalog|engine|http/httpapi|jobs|lance/dataset|lance/internal/cache|protocol/auth|service|storage|tables|work))(/|$)' | grep -vE '^tiltyard/(shared/engine/(chunking|evolution|fill|indices|internal/(grouping|prefilter)|relation|selection|udf|view)|local/(command|rowfile|standins|tools))(/|$)')
# Those that take minutes come first, so that none of them runs alone at the end.
slow=$(printf 'tiltyard/shared/%s\n' work/indexing engine lance/dataset service/all storage/objectstore/s3store work/refresh work/backfill)
concurrent=$(echo "$slow" && echo "$concurrent" | grep -vxF "$slow")
others=$(go list ./... | grep -vxF "$concurrent" | grep -vxF "$simulated")
failed=0
counted='TestWarmWorkFollowsWhatIsVisited|TestCreateIndexesLongValuesInLittleMemory|TestCreateMeasuresTheRecallOfAVectorIndex'
counted="$counted|TestWritersAtOnceHoldNoMoreThanTheyCount|TestReadersWhoDoNotRead|TestReadsHoldNothingAfterwards"
counted="$counted|TestDeletionsOfManyVersionsKeepToTheCache|TestRememberedRecordsTakeBoundedMemory"
counted="$counted|TestWorkerMayDieAtEachRequest|TestAnswersMayBeLost|TestBuildBeginsAgainWhenItsVersionIsCleanedUp"
counted="$counted|TestAnnouncerLosesNoChangeAfterACrash|TestRefreshSurvivesACrashAnywhere|TestPrefilterFindsTheRowsOfNativeLance"
counted="$counted|TestGroupsUseTheStoresAsListed|TestStorageRequests|TestSortOfAllRowsSendsAsManyRequestsAsAScan|TestMergesFitIntoASmallShare"

case " ${WITHOUT:-} " in
*" race "*)
	echo '*** WITHOUT=race: the race detector does not run ***'
	go test -timeout 20m "$@" $concurrent || failed=1
	;;
*)
	command -v "$(go env CC)" >/dev/null || {
		echo 'the race detector needs a C compiler; WITHOUT=race goes without it'
		exit 1
	}
	long=$(grep -rlE --include='*_test.go' "testing\.Short\(\)|rapid\.Check|$counted" local shared | xargs -n1 dirname | sort -u | sed 's,^,tiltyard/,' | grep -xF "$concurrent")
	CGO_ENABLED=1 go test -race -short -skip "^($counted)\$" -timeout 20m "$@" $concurrent || failed=1
	go test -timeout 20m "$@" $long || failed=1
	CGO_ENABLED=1 go test -race "$@" -run SideBySide ./shared/lance/datafile || failed=1
	;;
esac
go test -timeout 20m "$@" $others || failed=1
scripts/test-outside.sh || failed=1
exit $failed
