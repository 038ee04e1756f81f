package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Attempt is what one attempt to schedule a pod comes to, with HTTP extenders.
type Attempt struct {
	Pod       string             `json:"pod"`
	Node      *string            `json:"node"`               // where it was to be bound
	Feasible  []string           `json:"feasible"`           // after Filter of the extenders
	Totals    map[string]int64   `json:"totals"`             // absent if no scores were asked for
	Statuses  map[string]Refusal `json:"statuses,omitempty"` // of each node, if none was feasible
	Plugins   []string           `json:"plugins,omitempty"`  // whose events may help
	Reason    string             `json:"reason,omitempty"`   // of the condition PodScheduled
	Message   string             `json:"message,omitempty"`
	Nominated *string            `json:"nominated,omitempty"` // absent if it stays as it was
	Cleared   []string           `json:"cleared,omitempty"`   // other pods that lose their nomination
	Victims   []string           `json:"victims,omitempty"`
	IsBound   bool               `json:"isBound"`
	Binder    string             `json:"binder,omitempty"` // of a bound pod: extender or api
}

// extendedScheduler is a complete kube-scheduler whose loop is turned by hand. Its informers are
// filled and never started, and its API server only takes notes; see showChanges.
type extendedScheduler struct {
	*kubescheduler.Scheduler
	factory informers.SharedInformerFactory
	server  *noteTakingServer
	scores  *scoreLog
	cluster *cluster
	attempt *Attempt
	ended   chan struct{} // of an attempt, its binding included
}

// preparedForAttempts makes attempts of the scheduler loop independent of goroutines.
func preparedForAttempts() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		"SchedulerAsyncPreemption": false,
		"OpportunisticBatching":    false,
	})
}

// extendedAttempts tries each pending pod once, in the order of the queue.
func extendedAttempts(
	ctx context.Context, configuration *schedulerapi.KubeSchedulerConfiguration, given *cluster,
) ([]Attempt, error) {
	made := &extendedScheduler{
		scores:  &scoreLog{},
		cluster: asInformed(given),
		ended:   make(chan struct{}, 1),
	}
	ctx = klog.NewContext(ctx, made.scores.logger())
	if err := made.start(ctx, configuration); err != nil {
		return nil, err
	}
	attempts := make([]Attempt, 0, len(made.cluster.pending))
	for range made.cluster.pending {
		attempt, err := made.try(ctx)
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, attempt)
	}
	return attempts, nil
}

// asInformed returns nodes and pods as the informers of kube-scheduler hold them: clients drop the
// kind, and the transformer of newPodInformer the managed fields of pods.
func asInformed(given *cluster) *cluster {
	informed := &cluster{}
	for _, object := range given.objects {
		copied := object.DeepCopyObject()
		switch typed := copied.(type) {
		case *v1.Node:
			typed.TypeMeta = metav1.TypeMeta{}
		case *v1.Pod:
			typed.TypeMeta = metav1.TypeMeta{}
			typed.ManagedFields = nil
		}
		informed.add(copied)
	}
	return informed
}

func (s *extendedScheduler) start(
	ctx context.Context, configuration *schedulerapi.KubeSchedulerConfiguration,
) error {
	s.server = newNoteTakingServer()
	s.factory = kubescheduler.NewInformerFactory(s.server.client, 0)
	recorder := &bindingRecorder{bound: s.end}
	made, err := kubescheduler.New(ctx, s.server.client, s.factory, nil,
		func(string) events.EventRecorderLogger { return recorder },
		kubescheduler.WithProfiles(configuration.Profiles...),
		kubescheduler.WithExtenders(configuration.Extenders...),
		kubescheduler.WithParallelism(1),
		kubescheduler.WithPodInitialBackoffSeconds(600), // a pod is tried once
		kubescheduler.WithPodMaxBackoffSeconds(600),
	)
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	s.Scheduler = made
	s.observe()
	if err := fillInformers(s.factory, s.cluster.objects); err != nil {
		return fmt.Errorf("informers: %w", err)
	}
	logger := klog.FromContext(ctx)
	for _, node := range s.cluster.nodes {
		s.Cache.AddNode(logger, node)
	}
	for _, pod := range s.cluster.running {
		if err := s.Cache.AddPod(logger, pod); err != nil {
			return fmt.Errorf("cache: %w", err)
		}
	}
	for _, pod := range s.cluster.pending {
		s.SchedulingQueue.Add(ctx, pod)
	}
	return nil
}

// observe notes what the scheduler decides; what it does is its own.
func (s *extendedScheduler) observe() {
	schedule, handle := s.SchedulePod, s.FailureHandler
	s.SchedulePod = func(
		ctx context.Context, profile framework.Framework, state fwk.CycleState,
		pod *framework.QueuedPodInfo,
	) (kubescheduler.ScheduleResult, error) {
		s.scores.reset()
		s.attempt = &Attempt{Pod: keyOf(pod.Pod), Feasible: []string{}}
		result, err := schedule(ctx, profile, state, pod)
		if err == nil {
			s.choose(&result)
		}
		return result, err
	}
	s.FailureHandler = func(
		ctx context.Context, profile framework.Framework, pod *framework.QueuedPodInfo,
		status *fwk.Status, nomination *fwk.NominatingInfo, start time.Time,
	) {
		s.diagnose(status)
		handle(ctx, profile, pod, status, nomination, start)
		s.end()
	}
}

func (s *extendedScheduler) end() {
	s.ended <- struct{}{}
}

// choose takes the smallest name of the best nodes; kube-scheduler takes any of them.
func (s *extendedScheduler) choose(result *kubescheduler.ScheduleResult) {
	s.attempt.Feasible = []string{result.SuggestedHost}
	if result.FeasibleNodes > 1 {
		s.attempt.Feasible = slices.Sorted(slices.Values(s.scores.nodes))
		s.attempt.Totals = maps.Clone(s.scores.totals)
		result.SuggestedHost = s.scores.best()
	}
	s.attempt.Node = &result.SuggestedHost
}

// diagnose notes why no node was feasible, with a status for nodes that only extenders know.
func (s *extendedScheduler) diagnose(status *fwk.Status) {
	var fit *framework.FitError
	if !errors.As(status.AsError(), &fit) {
		return
	}
	s.attempt.Plugins = sets.List(fit.Diagnosis.UnschedulablePlugins.Union(
		fit.Diagnosis.PendingPlugins))
	s.attempt.Statuses = map[string]Refusal{}
	statuses := fit.Diagnosis.NodeToStatus
	for _, node := range s.cluster.nodes {
		s.attempt.Statuses[node.Name] = *refusalOf(statuses.Get(node.Name))
	}
	statuses.ForEachExplicitNode(func(node string, status *fwk.Status) {
		s.attempt.Statuses[node] = *refusalOf(status)
	})
}

// try lets the scheduler take the next pod and waits for the end of its binding.
func (s *extendedScheduler) try(ctx context.Context) (Attempt, error) {
	s.server.forget()
	s.ScheduleOne(ctx)
	<-s.ended
	attempt := *s.attempt
	if err := s.server.complete(&attempt); err != nil {
		return attempt, fmt.Errorf("%s: %w", attempt.Pod, err)
	}
	return attempt, s.showChanges(ctx, &attempt)
}

// showChanges does what event handlers do about victims, which are gone at once, and about other
// pods that have lost their nomination.
func (s *extendedScheduler) showChanges(ctx context.Context, attempt *Attempt) error {
	indexer := s.factory.Core().V1().Pods().Informer().GetIndexer()
	for _, key := range attempt.Victims {
		victim, err := findPod(indexer, key)
		if err != nil {
			return err
		}
		if err := indexer.Delete(victim); err != nil {
			return err
		}
		if err := s.Cache.RemovePod(klog.FromContext(ctx), victim); err != nil {
			return err
		}
	}
	for _, key := range attempt.Cleared {
		before, err := findPod(indexer, key)
		if err != nil {
			return err
		}
		after := before.DeepCopy()
		after.Status.NominatedNodeName = ""
		if err := indexer.Update(after); err != nil {
			return err
		}
		s.SchedulingQueue.Update(ctx, before, after)
	}
	return nil
}

func findPod(indexer cache.Indexer, key string) (*v1.Pod, error) {
	found, exists, err := indexer.GetByKey(key)
	if err != nil || !exists {
		return nil, fmt.Errorf("pod %s: exists: %t: %w", key, exists, err)
	}
	return found.(*v1.Pod), nil
}

// bindingRecorder calls bound when kube-scheduler says that a pod was bound.
type bindingRecorder struct {
	bound func()
}

// Eventf is called with each event.
func (r *bindingRecorder) Eventf(
	_ runtime.Object, _ runtime.Object, _, reason, _, _ string, _ ...any,
) {
	if reason == "Scheduled" {
		r.bound()
	}
}

// WithLogger returns the recorder itself.
func (r *bindingRecorder) WithLogger(klog.Logger) events.EventRecorderLogger {
	return r
}
