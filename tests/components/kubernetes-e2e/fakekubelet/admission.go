package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// admit asks the kubelet's own admission about a pod beside the others of its node.
func (k *kubelet) admit(node *v1.Node, pod *v1.Pod) lifecycle.PodAdmitResult {
	handler := lifecycle.NewPredicateAdmitHandler(
		func(context.Context, bool) (*v1.Node, error) { return node, nil },
		lifecycle.NewAdmissionFailureHandlerStub(),
		func(*framework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil },
	)
	return handler.Admit(&lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: k.neighbours(pod)})
}

// node returns the node of a pod, from the API server and not from a cache: tests change nodes and
// go on at once.
func (k *kubelet) node(ctx context.Context, pod *v1.Pod) (*v1.Node, error) {
	return k.client.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
}

// neighbours returns the other pods that hold resources of the pod's node. One that the API server
// has removed holds none, though its turn in the queue may still come.
func (k *kubelet) neighbours(pod *v1.Pod) []*v1.Pod {
	var found []*v1.Pod
	for _, known := range k.running {
		if known.hasEnded || known.uid == pod.UID || known.allocated.Spec.NodeName != pod.Spec.NodeName {
			continue
		}
		current, err := k.pods.Pods(known.allocated.Namespace).Get(known.allocated.Name)
		if err == nil && current.UID == known.uid {
			found = append(found, known.allocated)
		}
	}
	return found
}

// resize gives a pod the resources that its spec has now, if they fit. The API server refuses those
// that the node does not have at all.
func (k *kubelet) resize(ctx context.Context, pod *v1.Pod, known *runningPod) error {
	node, err := k.node(ctx, pod)
	if err != nil {
		return err
	}
	wanted := pod.DeepCopy()
	wanted.Status = v1.PodStatus{} // else the resources that it has count, too
	known.isResizeDeferred = !k.admit(node, wanted).Admit
	if !known.isResizeDeferred {
		known.allocate(pod)
		k.retryResizes()
	}
	return nil
}

// allocate remembers the resources of a pod as those that it holds.
func (r *runningPod) allocate(pod *v1.Pod) {
	r.allocated = pod.DeepCopy()
	r.allocated.Status = v1.PodStatus{}
}

// requirements returns everything in a spec that a resize may change.
func requirements(pod *v1.Pod) []v1.ResourceRequirements {
	var found []v1.ResourceRequirements
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, container := range containers {
			found = append(found, container.Resources)
		}
	}
	if pod.Spec.Resources != nil {
		found = append(found, *pod.Spec.Resources)
	}
	return found
}
