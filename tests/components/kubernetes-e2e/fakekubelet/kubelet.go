package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	statusutil "k8s.io/kubernetes/pkg/util/pod"
	"k8s.io/utils/ptr"
)

const addressesOfASubnet = 250

// runningPod is what a kubelet remembers of a pod that it has admitted or rejected.
type runningPod struct {
	uid types.UID
	// allocated is the pod with the resources that it was admitted with. It has no status.
	allocated *v1.Pod
	hostIP    string
	podIP     string
	startedAt metav1.Time
	// stoppingSince is when its containers were asked to end.
	stoppingSince time.Time
	// hasEnded says that it holds no resources: its containers have ended, or never began.
	hasEnded bool
	// isResizeDeferred says that its spec asks for more than the node has left.
	isResizeDeferred bool
}

// kubelet is the kubelet of all nodes. One worker looks at one pod at a time.
type kubelet struct {
	client  kubernetes.Interface
	pods    corelisters.PodLister
	queue   workqueue.TypedRateLimitingInterface[string]
	running map[string]*runningPod // by namespace/name
	failing failingProbes
	ipCount int
}

func newKubelet(client kubernetes.Interface, pods corelisters.PodLister) *kubelet {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 5*time.Second)
	return &kubelet{
		client:  client,
		pods:    pods,
		queue:   workqueue.NewTypedRateLimitingQueue(limiter),
		running: map[string]*runningPod{},
		failing: failingProbes{pods: sets.New[types.UID]()},
	}
}

func (k *kubelet) handler() cache.ResourceEventHandler {
	enqueue := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			k.queue.Add(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
		DeleteFunc: enqueue,
	}
}

// work looks at pods until the context ends.
func (k *kubelet) work(ctx context.Context) {
	context.AfterFunc(ctx, k.queue.ShutDown)
	for {
		key, isShutDown := k.queue.Get()
		if isShutDown {
			return
		}
		if err := k.sync(ctx, key); err != nil {
			klog.ErrorS(err, "a pod is tried again", "pod", key)
			k.queue.AddRateLimited(key)
		} else {
			k.queue.Forget(key)
		}
		k.queue.Done(key)
	}
}

func (k *kubelet) sync(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	pod, err := k.pods.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		k.forget(key)
		return nil
	}
	if err != nil || pod.Spec.NodeName == "" {
		return err
	}
	if known := k.running[key]; known != nil && known.uid != pod.UID {
		k.forget(key)
	}
	known := k.running[key]
	switch {
	case podutil.IsPodTerminal(pod):
		k.forget(key)
		return k.remove(ctx, pod)
	case pod.DeletionTimestamp != nil:
		return k.stop(ctx, key, pod, known)
	case known == nil:
		return k.start(ctx, key, pod)
	case known.hasEnded:
		return nil // the informer has not seen it yet
	default:
		return k.keepRunning(ctx, key, pod, known)
	}
}

// start admits a pod, and reports it as running or as rejected.
func (k *kubelet) start(ctx context.Context, key string, pod *v1.Pod) error {
	node, err := k.node(ctx, pod)
	if err != nil {
		return err
	}
	result := k.admit(node, pod)
	known := &runningPod{uid: pod.UID, startedAt: metav1.Now(), hasEnded: !result.Admit, hostIP: internalIP(node)}
	if !result.Admit {
		klog.InfoS("A pod is rejected", "pod", key, "node", pod.Spec.NodeName, "reason", result.Reason, "message", result.Message)
		if err := k.patchStatus(ctx, pod, rejectedStatus(pod, result)); err != nil {
			return err
		}
		k.running[key] = known
		return nil
	}
	known.allocate(pod)
	known.podIP = known.hostIP
	if !pod.Spec.HostNetwork {
		known.podIP = k.newAddress()
	}
	k.running[key] = known
	return k.keepRunning(ctx, key, pod, known)
}

// keepRunning ends a pod whose command has ended, resizes one whose spec has changed, and reports.
func (k *kubelet) keepRunning(ctx context.Context, key string, pod *v1.Pod, known *runningPod) error {
	if duration, isFinite := runDuration(pod); isFinite {
		left := time.Until(known.startedAt.Add(duration))
		if left <= 0 {
			return k.end(ctx, pod, known)
		}
		k.queue.AddAfter(key, left)
	}
	if equality.Semantic.DeepEqual(requirements(pod), requirements(known.allocated)) {
		known.isResizeDeferred = false
	} else if err := k.resize(ctx, pod, known); err != nil {
		return err
	}
	isReady := !k.failing.has(pod)
	if left := time.Until(known.startedAt.Add(probeDelay(pod))); left > 0 {
		isReady = false
		k.queue.AddAfter(key, left)
	}
	return k.patchStatus(ctx, pod, runningStatus(pod, known, isReady))
}

// stop ends a pod that is deleted, after the time that its containers take, and removes it.
func (k *kubelet) stop(ctx context.Context, key string, pod *v1.Pod, known *runningPod) error {
	if isRemovedAnyway(pod) {
		k.forget(key)
		return nil
	}
	if known == nil || known.hasEnded {
		return k.remove(ctx, pod)
	}
	if known.stoppingSince.IsZero() {
		known.stoppingSince = time.Now()
	}
	if left := time.Until(known.stoppingSince.Add(stopDuration(pod))); left > 0 {
		k.queue.AddAfter(key, left)
		return nil
	}
	if err := k.end(ctx, pod, known); err != nil {
		return err
	}
	return k.remove(ctx, pod)
}

// end reports that all containers have ended well, and frees what they had.
func (k *kubelet) end(ctx context.Context, pod *v1.Pod, known *runningPod) error {
	if err := k.patchStatus(ctx, pod, endedStatus(pod, known)); err != nil {
		return err
	}
	known.hasEnded = true
	k.retryResizes()
	return nil
}

// remove takes a deleted pod out of the API server; finalizers may keep it there.
func (k *kubelet) remove(ctx context.Context, pod *v1.Pod) error {
	if pod.DeletionTimestamp == nil || isRemovedAnyway(pod) {
		return nil
	}
	options := metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To(int64(0)),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	}
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	if apierrors.IsConflict(err) { // another pod has the name
		return nil
	}
	return unlessGone(err)
}

// newAddress returns an IP address that no pod before had.
func (k *kubelet) newAddress() string {
	k.ipCount++
	return fmt.Sprintf("10.64.%d.%d", k.ipCount/addressesOfASubnet%256, k.ipCount%addressesOfASubnet+1)
}

// isRemovedAnyway says that the API server removes a pod by itself: its grace period is over, and no
// finalizer keeps it. A write of its status could then remove another pod that has just got its name:
// the API server ends the removal after such a write, and does not look whose it is.
func isRemovedAnyway(pod *v1.Pod) bool {
	isForced := pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0
	return isForced && len(pod.Finalizers) == 0
}

func (k *kubelet) forget(key string) {
	if k.running[key] != nil {
		delete(k.running, key)
		k.retryResizes()
	}
}

// retryResizes looks again at pods that wait for room.
func (k *kubelet) retryResizes() {
	for key, known := range k.running {
		if known.isResizeDeferred {
			k.queue.Add(key)
		}
	}
}

func (k *kubelet) patchStatus(ctx context.Context, pod *v1.Pod, status v1.PodStatus) error {
	_, _, _, err := statusutil.PatchPodStatus(ctx, k.client, pod.Namespace, pod.Name, pod.UID, pod.Status, status)
	return err
}

// runDuration returns how long a pod runs whose first container has the command `sleep SECONDS` or
// `exit 0`. Every other pod runs until it is deleted.
func runDuration(pod *v1.Pod) (time.Duration, bool) {
	container := pod.Spec.Containers[0]
	words := slices.Concat(container.Command, container.Args)
	if pod.Spec.RestartPolicy == v1.RestartPolicyAlways || len(words) == 0 {
		return 0, false
	}
	script := words[len(words)-1]
	seconds, isSleep := strings.CutPrefix(script, "sleep ")
	count, err := strconv.Atoi(seconds)
	isFinite := script == "exit 0" || isSleep && err == nil
	return time.Duration(count) * time.Second, isFinite
}

// stopDuration returns how long the containers take to end: their preStop hooks sleep, at most for
// the grace period. The rest of them ends at once.
func stopDuration(pod *v1.Pod) time.Duration {
	var seconds int64
	for _, container := range pod.Spec.Containers {
		hooks := container.Lifecycle
		if hooks != nil && hooks.PreStop != nil && hooks.PreStop.Sleep != nil {
			seconds = max(seconds, hooks.PreStop.Sleep.Seconds)
		}
	}
	return time.Duration(min(seconds, ptr.Deref(pod.DeletionGracePeriodSeconds, 0))) * time.Second
}
