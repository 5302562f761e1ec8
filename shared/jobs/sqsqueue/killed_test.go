package sqsqueue_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/sqsqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/record/dynamorecord"
)

// A killing describes the workers of a test, which are processes of this program. Each of them kills itself at the
// first stage or part that none has died of before.
type killing struct {
	Queues, Records string // endpoints
	Light, Heavy    string // URLs of queues
	Table, Dead     string // of records; the folder with a file for each death
	Hours           int    // by which the clock of the process is ahead: leases of earlier ones have run out
	OfHeavy         bool   // takes heavy work
}

const killingVariable = "TILTYARD_TEST_WORKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(killingVariable); text != "" {
		var k killing
		if err := json.Unmarshal([]byte(text), &k); err != nil {
			panic(err)
		}
		k.work()
		return
	}
	os.Exit(m.Run())
}

func (k killing) now() time.Time { return time.Now().Add(time.Duration(k.Hours) * time.Hour) }

func (k killing) starter() jobs.Starter {
	queues := sqs.New(sqs.Options{BaseEndpoint: &k.Queues, Region: "us-east-1", Credentials: inMiniStack()})
	records := dynamodb.New(dynamodb.Options{BaseEndpoint: &k.Records, Region: "us-east-1", Credentials: inMiniStack()})
	return jobs.Starter{
		Transactions: transaction.Open(dynamorecord.New(records, k.Table, k.now), k.now),
		Queue:        sqsqueue.New(queues, k.Light), Heavy: sqsqueue.New(queues, k.Heavy),
	}
}

// work sends for lost messages, as the clock asks for, and then takes messages until it dies, the job has ended, or it is
// told to stop.
func (k killing) work() {
	w := &jobs.Worker{
		Starter: k.starter(), Kinds: map[string]jobs.Kind{"kill": k.kind()}, Name: rand.Text, Now: k.now,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Light: !k.OfHeavy,
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	if err := w.Do(ctx, jobs.Message{Kind: jobs.ReviveKind}); err != nil {
		panic(err)
	}
	go func() {
		for ; ; time.Sleep(20 * time.Millisecond) {
			jobs, _, err := w.Transactions.Jobs(ctx, "", 1)
			if err == nil && len(jobs) == 1 && jobs[0].Status.Ended() {
				stop()
				return
			}
		}
	}()
	from := w.Queue
	if k.OfHeavy {
		from = w.Heavy
	}
	w.ServeFrom(ctx, from, 1)
}

const killedParts = 8

// kind has three stages. The middle one has eight parts, which are heavy work.
func (k killing) kind() jobs.Kind {
	return jobs.Kind{Stages: []jobs.Stage{
		{Name: "prepare", Do: func(_ context.Context, r *jobs.Run) (any, error) { return 0, k.at(r) }},
		{
			Name: "parts", Parts: func(context.Context, *jobs.Run) (int, error) { return killedParts, nil },
			Estimate: func(context.Context, *jobs.Run) (jobs.Effort, error) { return jobs.Effort{Memory: 4 << 30}, nil },
			Do: func(_ context.Context, r *jobs.Run) (any, error) {
				part, _ := r.Part()
				return part, k.at(r)
			},
		},
		{Name: "commit", Do: func(ctx context.Context, r *jobs.Run) (any, error) {
			parts, err := jobs.ResultsOf[int](ctx, r, "parts")
			return parts, errors.Join(err, k.at(r))
		}},
	}}
}

// at kills the process, unless one has died of the same stage and part.
func (k killing) at(r *jobs.Run) error {
	part, _ := r.Part()
	if err := os.Mkdir(filepath.Join(k.Dead, fmt.Sprint(r.Stage(), " ", part)), 0o700); err != nil {
		return nil //nolint:nilerr // it was made by one that has died
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	select {}
}

// A job of three stages, of which one has eight parts, ends well although a worker is killed in each stage and each part of
// it, and although all messages are lost with each of them: the clock sends others.
func TestJobSurvivesItsWorkers(t *testing.T) {
	k := killing{Queues: os.Getenv("TILTYARD_TEST_SQS"), Records: os.Getenv("TILTYARD_TEST_DYNAMODB"), Dead: t.TempDir()}
	if k.Queues == "" || k.Records == "" {
		t.Skip("TILTYARD_TEST_SQS and TILTYARD_TEST_DYNAMODB name no endpoints: NO WORKER WAS KILLED")
	}
	k.makeTable(t)
	k.makeQueues(t)
	begun, err := k.starter().Begin(t.Context(), "kill", []string{"t"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	deaths := 0
	for range killedParts + 3 {
		k.Hours++
		k.makeQueues(t)
		if k.run(t) {
			deaths++
		}
		got, err := k.starter().Transactions.Job(t.Context(), transaction.Unit{Job: begun.ID})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Status.Ended() {
			continue
		}
		if want := "[1,2,3,4,5,6,7,8]"; got.Status != transactionapi.Succeeded || string(got.Result) != want {
			t.Errorf("the job is %v (%s) with %s, want %s", got.Status, got.Failure, got.Result, want)
		}
		died, err := os.ReadDir(k.Dead)
		if err != nil || len(died) != killedParts+2 || deaths != len(died) {
			t.Errorf("workers died %d times, of %v (%v), want one in each stage and part", deaths, died, err)
		}
		return
	}
	t.Error("the job does not end")
}

// run runs a worker of each queue until one of them dies or the job ends. It reports whether one has died.
func (k killing) run(t *testing.T) (died bool) {
	t.Helper()
	type end struct {
		who int
		err error
	}
	ends := make(chan end, 2)
	var workers []*exec.Cmd
	for who, ofHeavy := range []bool{false, true} {
		k.OfHeavy = ofHeavy
		text, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		worker := exec.CommandContext(t.Context(), os.Args[0])
		worker.Env = append(slices.Clone(os.Environ()), killingVariable+"="+string(text))
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, worker)
		go func() { ends <- end{who, worker.Wait()} }()
	}
	for range workers {
		e := <-ends
		if e.err == nil {
			continue // the job has ended
		}
		died = true
		if err := workers[1-e.who].Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	}
	return died
}

func inMiniStack() aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
	})
}

// makeQueues makes new queues. The messages in those before are lost.
func (k *killing) makeQueues(t *testing.T) {
	t.Helper()
	queues := sqs.New(sqs.Options{BaseEndpoint: &k.Queues, Region: "us-east-1", Credentials: inMiniStack()})
	for which, url := range map[string]*string{"light": &k.Light, "heavy": &k.Heavy} {
		name := which + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		made, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			t.Fatal(err)
		}
		*url = *made.QueueUrl
	}
}

// makeTable makes the table of records.
func (k *killing) makeTable(t *testing.T) {
	t.Helper()
	k.Table = "killed-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	records := dynamodb.New(dynamodb.Options{BaseEndpoint: &k.Records, Region: "us-east-1", Credentials: inMiniStack()})
	if err := dynamorecord.CreateTable(t.Context(), records, k.Table); err != nil {
		t.Fatal(err)
	}
}
