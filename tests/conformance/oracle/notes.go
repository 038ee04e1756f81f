package main

import (
	"encoding/json"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// noteTakingServer is an API server that accepts all writes about pods, and keeps none.
type noteTakingServer struct {
	client  *fake.Clientset
	lock    sync.Mutex
	bound   []string
	deleted []string
	patched map[string][]statusPatch
}

// statusPatch is a patch of a pod's status; null removes a value.
type statusPatch struct {
	Conditions []v1.PodCondition `json:"conditions"`
	Nominated  json.RawMessage   `json:"nominatedNodeName"`
}

func newNoteTakingServer() *noteTakingServer {
	made := &noteTakingServer{client: &fake.Clientset{}}
	made.client.AddReactor("*", "pods", made.note)
	made.forget()
	return made
}

func (s *noteTakingServer) forget() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.bound, s.deleted, s.patched = nil, nil, map[string][]statusPatch{}
}

func (s *noteTakingServer) note(action clienttesting.Action) (bool, runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch typed := action.(type) {
	case clienttesting.CreateActionImpl:
		s.bound = append(s.bound, keyOf(typed.Object))
	case clienttesting.DeleteActionImpl:
		s.deleted = append(s.deleted, typed.GetNamespace()+"/"+typed.Name)
	case clienttesting.PatchActionImpl:
		var patch struct {
			Status statusPatch `json:"status"`
		}
		if err := json.Unmarshal(typed.GetPatch(), &patch); err != nil {
			return true, nil, err
		}
		key := typed.GetNamespace() + "/" + typed.Name
		s.patched[key] = append(s.patched[key], patch.Status)
	}
	return true, &v1.Pod{}, nil
}

// complete writes into an attempt what was written to the API server.
func (s *noteTakingServer) complete(attempt *Attempt) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	attempt.Victims = slices.Sorted(slices.Values(s.deleted))
	for _, key := range sortedKeys(s.patched) {
		for _, patch := range s.patched[key] {
			nominated, err := patch.nominated()
			switch {
			case err != nil:
				return err
			case key == attempt.Pod:
				attempt.take(patch, nominated)
			case nominated != nil && *nominated == "" && len(s.deleted) > 0:
				// By default preemption is asynchronous, and then ends early without deletions.
				attempt.Cleared = append(attempt.Cleared, key)
			}
		}
	}
	attempt.IsBound = attempt.Reason == ""
	if attempt.IsBound {
		attempt.Binder = "extender"
		if slices.Contains(s.bound, attempt.Pod) {
			attempt.Binder = "api"
		}
	}
	return nil
}

func (a *Attempt) take(patch statusPatch, nominated *string) {
	for _, condition := range patch.Conditions {
		if condition.Type == v1.PodScheduled {
			a.Reason, a.Message = condition.Reason, condition.Message
		}
	}
	if nominated != nil {
		a.Nominated = nominated
	}
}

// nominated returns the nomination that a patch writes, "" for none, or nil if it does not touch it.
func (p statusPatch) nominated() (*string, error) {
	if len(p.Nominated) == 0 {
		return nil, nil
	}
	var name string // stays empty for null
	err := json.Unmarshal(p.Nominated, &name)
	return &name, err
}
