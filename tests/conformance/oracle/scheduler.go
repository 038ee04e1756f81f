package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// sharedParts are the parts of a scheduler that carry nothing from one case to the next.
type sharedParts struct {
	registry runtime.Registry
	metrics  *metrics.MetricAsyncRecorder
}

func newSharedParts(ctx context.Context) *sharedParts {
	return &sharedParts{
		registry: plugins.NewInTreeRegistry(),
		metrics:  metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done()),
	}
}

// scheduler is kube-scheduler without its loop and its API server, on one cluster.
type scheduler struct {
	ctx        context.Context
	framework  framework.Framework
	cache      cache.Cache
	snapshot   *cache.Snapshot
	queue      queue.SchedulingQueue
	running    []*v1.Pod
	pending    []*v1.Pod
	preemption *preemptionObserver
	server     *apiServer
	devices    *devices
	recorder   *eventRecorder
}

func newScheduler(
	ctx context.Context, shared *sharedParts, profile *schedulerapi.KubeSchedulerProfile,
	objects *cluster,
) (*scheduler, error) {
	server, err := newAPIServer(objects)
	if err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	factory := informers.NewSharedInformerFactory(server.client, 0)
	groups := utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload)
	made := &scheduler{
		ctx:        ctx,
		cache:      cache.New(ctx, nil, groups),
		snapshot:   cache.NewEmptySnapshot(),
		running:    objects.running,
		pending:    objects.pending,
		preemption: &preemptionObserver{},
		server:     server,
		recorder:   &eventRecorder{},
	}
	if made.devices, err = newDevices(ctx, factory, objects.objects); err != nil {
		return nil, fmt.Errorf("devices: %w", err)
	}
	server.created = made.devices.claims.add
	registry := made.devices.observedIn(made.preemption.observedIn(shared.registry))
	made.framework, err = runtime.NewFramework(ctx, registry, profile,
		runtime.WithClientSet(server.client),
		runtime.WithEventRecorder(made.recorder),
		runtime.WithInformerFactory(factory),
		runtime.WithSnapshotSharedLister(made.snapshot),
		runtime.WithSharedDRAManager(made.devices),
		runtime.WithSharedCSIManager(
			nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		runtime.WithPodGroupManager(made.cache),
		runtime.WithMetricsRecorder(shared.metrics),
		runtime.WithWaitingPods(runtime.NewWaitingPodsMap()),
		runtime.WithPodsInPreBind(runtime.NewPodsInPreBindMap()),
		runtime.WithParallelism(1), // small clusters: goroutines cost more than they bring
	)
	if err != nil {
		return nil, fmt.Errorf("framework: %w", err)
	}
	if err := fillInformers(factory, objects.objects); err != nil {
		return nil, fmt.Errorf("informers: %w", err)
	}
	made.fillQueue(factory, shared.metrics)
	return made, made.fillCache(objects)
}

// fillCache does what kube-scheduler's event handlers do about nodes and assigned pods.
func (s *scheduler) fillCache(objects *cluster) error {
	logger := klog.FromContext(s.ctx)
	for _, node := range objects.nodes {
		s.cache.AddNode(logger, node)
	}
	for _, pod := range objects.running {
		if err := s.cache.AddPod(logger, pod); err != nil {
			return err
		}
	}
	return s.cache.UpdateSnapshot(logger, s.snapshot)
}

// fillQueue does what kube-scheduler's event handlers do about pending pods; the queue runs
// PreEnqueue and is the nominator.
func (s *scheduler) fillQueue(
	factory informers.SharedInformerFactory, recorder *metrics.MetricAsyncRecorder,
) {
	gates := map[string]fwk.PreEnqueuePlugin{}
	for _, plugin := range s.framework.PreEnqueuePlugins() {
		gates[plugin.Name()] = plugin
	}
	gatesByProfile := map[string]map[string]fwk.PreEnqueuePlugin{}
	for _, pod := range s.pending {
		gatesByProfile[pod.Spec.SchedulerName] = gates
	}
	s.queue = queue.NewSchedulingQueue(s.framework.QueueSortFunc(), factory,
		queue.WithPreEnqueuePluginMap(gatesByProfile),
		queue.WithMetricsRecorder(recorder),
	)
	s.framework.SetPodNominator(s.queue)
	s.framework.SetPodActivator(s.queue)
	for _, pod := range s.pending {
		s.queue.Add(s.ctx, pod)
	}
}
