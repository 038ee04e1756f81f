package main

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/ptr"
)

func rejectedStatus(pod *v1.Pod, result lifecycle.PodAdmitResult) v1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.Phase = v1.PodFailed
	status.Reason = result.Reason
	status.Message = "Pod was rejected: " + result.Message
	status.ObservedGeneration = pod.Generation
	return status
}

// runningStatus reports containers that run, or that wait for an image that there is not.
func runningStatus(pod *v1.Pod, known *runningPod, isReady bool) v1.PodStatus {
	status := commonStatus(pod, known)
	status.Phase = v1.PodRunning
	state := v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: known.startedAt}}
	if !hasImages(pod) {
		status.Phase = v1.PodPending
		state = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ErrImagePull"}}
		isReady = false
	}
	setCondition(&status, v1.PodReadyToStartContainers, true, "")
	setCondition(&status, v1.PodInitialized, true, "")
	setCondition(&status, v1.ContainersReady, isReady, "")
	setCondition(&status, v1.PodReady, isReady && areGatesOpen(pod), "")
	setResizeDeferred(&status, known.isResizeDeferred)
	status.ContainerStatuses = containerStatuses(known, pod.Spec.Containers, known.allocated.Spec.Containers, state)
	for i := range status.ContainerStatuses {
		status.ContainerStatuses[i].Ready = isReady
	}
	status.InitContainerStatuses = initContainerStatuses(pod, known, state)
	return status
}

// hasImages says whether all images can be pulled. Those of tests that cannot name no registry.
func hasImages(pod *v1.Pod) bool {
	for _, container := range pod.Spec.Containers {
		if !strings.Contains(container.Image, "/") {
			return false
		}
	}
	return true
}

func areGatesOpen(pod *v1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		_, condition := podutil.GetPodCondition(&pod.Status, gate.ConditionType)
		if condition == nil || condition.Status != v1.ConditionTrue {
			return false
		}
	}
	return true
}

func endedStatus(pod *v1.Pod, known *runningPod) v1.PodStatus {
	status := commonStatus(pod, known)
	status.Phase = v1.PodSucceeded
	setCondition(&status, v1.PodReadyToStartContainers, false, "")
	setCondition(&status, v1.PodInitialized, true, "PodCompleted")
	setCondition(&status, v1.ContainersReady, false, "PodCompleted")
	setCondition(&status, v1.PodReady, false, "PodCompleted")
	setResizeDeferred(&status, false)
	ended := endedState(known)
	status.ContainerStatuses = containerStatuses(known, pod.Spec.Containers, known.allocated.Spec.Containers, ended)
	status.InitContainerStatuses = initContainerStatuses(pod, known, ended)
	return status
}

// commonStatus returns the status as it is, with what a kubelet knows of every pod.
func commonStatus(pod *v1.Pod, known *runningPod) v1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.ObservedGeneration = pod.Generation
	status.StartTime = &known.startedAt
	status.HostIP = known.hostIP
	status.HostIPs = []v1.HostIP{{IP: known.hostIP}}
	status.PodIP = known.podIP
	status.PodIPs = []v1.PodIP{{IP: known.podIP}}
	return status
}

// initContainerStatuses reports sidecars as `state`, and the others as ended before.
func initContainerStatuses(pod *v1.Pod, known *runningPod, state v1.ContainerState) []v1.ContainerStatus {
	var found []v1.ContainerStatus
	for i := range pod.Spec.InitContainers {
		container := pod.Spec.InitContainers[i : i+1]
		own := state
		if !podutil.IsRestartableInitContainer(&container[0]) {
			own = endedState(known)
		}
		statuses := containerStatuses(known, container, known.allocated.Spec.InitContainers[i:i+1], own)
		statuses[0].Ready = true
		found = append(found, statuses...)
	}
	return found
}

func containerStatuses(known *runningPod, containers, allocated []v1.Container, state v1.ContainerState) []v1.ContainerStatus {
	found := make([]v1.ContainerStatus, 0, len(containers))
	for i, container := range containers {
		found = append(found, v1.ContainerStatus{
			Name:               container.Name,
			State:              state,
			Ready:              state.Running != nil,
			Started:            ptr.To(state.Running != nil),
			Image:              container.Image,
			ImageID:            container.Image,
			ContainerID:        fmt.Sprintf("fake://%s/%s", known.uid, container.Name),
			AllocatedResources: allocated[i].Resources.Requests,
			Resources:          &allocated[i].Resources,
		})
	}
	return found
}

func endedState(known *runningPod) v1.ContainerState {
	return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		Reason: "Completed", StartedAt: known.startedAt, FinishedAt: known.startedAt,
	}}
}

func setCondition(status *v1.PodStatus, kind v1.PodConditionType, holds bool, reason string) {
	condition := v1.PodCondition{
		Type: kind, Status: v1.ConditionFalse, Reason: reason, ObservedGeneration: status.ObservedGeneration,
	}
	if holds {
		condition.Status = v1.ConditionTrue
	}
	podutil.UpdatePodCondition(status, &condition)
}

// setResizeDeferred reports that a resize waits for room, or takes the condition away.
func setResizeDeferred(status *v1.PodStatus, isDeferred bool) {
	if isDeferred {
		setCondition(status, v1.PodResizePending, true, v1.PodReasonDeferred)
		return
	}
	var others []v1.PodCondition
	for _, condition := range status.Conditions {
		if condition.Type != v1.PodResizePending {
			others = append(others, condition)
		}
	}
	status.Conditions = others
}
