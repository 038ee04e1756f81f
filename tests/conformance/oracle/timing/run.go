package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// run is a scheduler with a full cache and a full queue.
type run struct {
	ctx       context.Context
	scheduler *scheduler.Scheduler
	framework framework.Framework
	snapshot  *cache.Snapshot
	waiting   int
}

func newRun(ctx context.Context, request *Request) (*run, error) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	made, err := scheduler.New(ctx, client, factory, nil, discardEvents,
		scheduler.WithPercentageOfNodesToScore(&request.PercentageOfNodesToScore))
	if err != nil {
		return nil, err
	}
	profile := made.Profiles[v1.DefaultSchedulerName]
	snapshot, ok := profile.SnapshotSharedLister().(*cache.Snapshot)
	if !ok {
		return nil, fmt.Errorf("the snapshot is a %T", profile.SnapshotSharedLister())
	}
	r := &run{ctx: ctx, scheduler: made, framework: profile, snapshot: snapshot}
	return r, r.fill(factory, request)
}

func discardEvents(string) events.EventRecorderLogger {
	return &events.FakeRecorder{}
}

// fill does what the event handlers do when kube-scheduler starts; plugins read namespaces.
func (r *run) fill(factory informers.SharedInformerFactory, request *Request) error {
	logger := klog.FromContext(r.ctx)
	namespaces := factory.Core().V1().Namespaces().Informer().GetIndexer()
	for _, node := range request.Nodes {
		r.scheduler.Cache.AddNode(logger, node)
	}
	for _, pod := range request.Pods {
		namespace := &v1.Namespace{}
		namespace.Name = pod.Namespace
		if err := namespaces.Add(namespace); err != nil {
			return err
		}
		if pod.Spec.NodeName == "" {
			r.scheduler.SchedulingQueue.Add(r.ctx, pod)
			r.waiting++
		} else if err := r.scheduler.Cache.AddPod(logger, pod); err != nil {
			return err
		}
	}
	return nil
}

// timed places every waiting pod once.
func (r *run) timed() (Response, error) {
	var response Response
	runtime.GC() // what reading the input left behind is not the algorithm's
	cpuBefore, before := cpuSeconds(), time.Now()
	for range r.waiting {
		evaluated, fits, err := r.placeNext()
		if err != nil {
			return response, err
		}
		response.Evaluated += evaluated
		if fits {
			response.Placed++
		} else {
			response.Failed++
		}
	}
	response.Seconds = time.Since(before).Seconds()
	response.CPUSeconds = cpuSeconds() - cpuBefore
	return response, nil
}

// placeNext is scheduleOnePod of schedule_one.go up to the binding, less Permit.
func (r *run) placeNext() (evaluated int, fits bool, err error) {
	logger := klog.FromContext(r.ctx)
	queued, err := r.scheduler.NextPod(logger)
	if err != nil {
		return 0, false, err
	}
	defer r.scheduler.SchedulingQueue.Done(queued.Pod.UID)
	if err := r.scheduler.Cache.UpdateSnapshot(logger, r.snapshot); err != nil {
		return 0, false, err
	}
	state := framework.NewCycleState()
	result, err := r.scheduler.SchedulePod(r.ctx, r.framework, state, queued)
	var unfit *framework.FitError
	if errors.As(err, &unfit) {
		r.makeRoom(logger, state, queued, unfit)
		return unfit.Diagnosis.NodeToStatus.Len(), false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return result.EvaluatedNodes, true, r.assume(logger, state, queued, result.SuggestedHost)
}

// makeRoom asks for preemption and nominates; evictions go to a client that knows no pods, so that
// victims stay.
func (r *run) makeRoom(
	logger klog.Logger, state fwk.CycleState, queued *framework.QueuedPodInfo,
	unfit *framework.FitError,
) {
	statuses := unfit.Diagnosis.NodeToStatus
	result, _ := r.framework.RunPostFilterPlugins(r.ctx, state, queued.Pod, statuses)
	if result != nil && result.NominatingInfo != nil {
		r.scheduler.SchedulingQueue.AddNominatedPod(logger, queued.PodInfo, result.NominatingInfo)
	}
}

func (r *run) assume(
	logger klog.Logger, state fwk.CycleState, queued *framework.QueuedPodInfo, node string,
) error {
	assumed := queued.DeepCopy()
	assumed.Pod.Spec.NodeName = node
	if err := r.scheduler.Cache.AssumePod(logger, assumed.Pod); err != nil {
		return err
	}
	r.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(assumed.Pod)
	status := r.framework.RunReservePluginsReserve(r.ctx, state, assumed.Pod, node)
	return status.AsError()
}

// cpuSeconds returns what this process has used of all processors.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // only for a wrong argument
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
