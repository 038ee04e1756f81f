package main

import (
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// failingProbes holds the pods that are not ready. A test makes a readiness probe fail by moving the
// page that it asks for to /tmp, and lets it succeed again by moving it back.
type failingProbes struct {
	mutex sync.Mutex
	pods  sets.Set[types.UID]
}

// follow takes down what a command in a pod does to the pages of its probes.
func (f *failingProbes) follow(pod *v1.Pod, command string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, container := range pod.Spec.Containers {
		probe := container.ReadinessProbe
		if probe == nil || probe.HTTPGet == nil {
			continue
		}
		switch page := probe.HTTPGet.Path; {
		case strings.Contains(command, "mv -v "+page+" /tmp"):
			f.pods.Insert(pod.UID)
		case strings.Contains(command, "mv -v /tmp"+page+" "):
			f.pods.Delete(pod.UID)
		}
	}
}

// probeDelay returns how long the readiness probes of a pod wait before they ask.
func probeDelay(pod *v1.Pod) time.Duration {
	var seconds int32
	for _, container := range pod.Spec.Containers {
		if probe := container.ReadinessProbe; probe != nil {
			seconds = max(seconds, probe.InitialDelaySeconds)
		}
	}
	return time.Duration(seconds) * time.Second
}

func (f *failingProbes) has(pod *v1.Pod) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.pods.Has(pod.UID)
}
