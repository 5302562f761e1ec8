package main

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Service is the stack that serves requests. It has no state, so it can be destroyed and created
// again.
type Service struct {
	awscdk.Stack
	Functions map[string]awslambda.IFunction // by folder of functions/

	workers []string // log groups of the workers
	clocks  *string  // name of the group of schedules
	config  Config
	storage *Storage
	vend    *vendRole // nil if clients get no credentials

	apiKeys, policies, quotas *document // nil if not configured

	network *network    // of the functions; nil if they need none
	public  awsec2.IVpc // of the containers; created on first use
}

// NewService creates the stack.
func NewService(app constructs.Construct, c Config, storage *Storage) *Service {
	s := &Service{
		Stack:     newStack(app, c, "service", "Tiltyard: functions and gateway", false),
		Functions: map[string]awslambda.IFunction{},
		config:    c,
		storage:   storage,
	}
	if c.Vending {
		s.vend = s.newVendRole()
	}
	s.apiKeys, s.policies, s.quotas = s.newDocument("ApiKeys", c.APIKeys), s.newDocument("Policies", c.Policies), s.newDocument("Quotas", c.Quotas)
	s.network = s.newNetwork()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if n := functions[name]; !n.url || c.streamURL() {
			s.Functions[name] = s.newFunction(name, n)
		}
	}
	s.callWorker(storage.Jobs, c.Workers)
	s.callWorker(storage.DeadLetters, fewestWorkers) // the worker ends the jobs of dead messages
	s.look()
	var requests traffic
	if c.Gateway == "rest" {
		requests = s.newRESTAPI()
	} else {
		requests = s.newHTTPAPI()
		if c.streamURL() {
			s.newStreamURL()
		}
	}
	if c.Image != "" {
		s.newContainers()
	}
	if c.JobImage != "" {
		s.newHeavyWorkers()
	}
	s.watch(requests)
	s.warnOfSilentAlarms()
	s.warnOfOpenURL()
	return s
}

// fewestWorkers is the minimum concurrency of an SQS event source.
const fewestWorkers = 2

// callWorker connects a queue to the worker, with at most the given number of concurrent
// invocations.
func (s *Service) callWorker(queue awssqs.Queue, workers int) {
	s.Functions["worker"].AddEventSource(awslambdaeventsources.NewSqsEventSource(queue, &awslambdaeventsources.SqsEventSourceProps{
		BatchSize:               jsii.Number(1),
		ReportBatchItemFailures: jsii.Bool(true),
		MaxConcurrency:          jsii.Number(workers),
	}))
}
