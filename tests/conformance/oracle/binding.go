package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// Binding is what the claims of a pod come to, considered alone.
type Binding struct {
	Pod        string                 `json:"pod"`
	Nodes      map[string]Reservation `json:"nodes"` // the feasible ones
	Node       *string                `json:"node"`
	PreBind    *PreBinding            `json:"preBind,omitempty"`    // on the node
	PostFilter *Deallocation          `json:"postFilter,omitempty"` // where no node is feasible
}

// Reservation is what a pod reserves on a node, and what is written when it gives that up.
type Reservation struct {
	Refusal    *Refusal       `json:"refusal,omitempty"`
	Claims     map[string]any `json:"claims"` // allocations that have not been written
	Unreserved []Write        `json:"unreserved"`
}

// PreBinding is what is written before a pod is bound, and when binding fails afterwards.
type PreBinding struct {
	Refusal    *Refusal `json:"refusal,omitempty"`
	Writes     []Write  `json:"writes"`
	Events     []Event  `json:"events"`
	Unreserved []Write  `json:"unreserved"`
}

// Event is what users see of the wait for devices.
type Event struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Action string `json:"action"`
	Note   string `json:"note"`
}

// Deallocation is what DynamicResources does for a pod that no node takes.
type Deallocation struct {
	Refusal *Refusal `json:"refusal"`
	Writes  []Write  `json:"writes"`
}

// deallocationTries is how often a pod with several claims is asked about: kube-scheduler takes any
// of them. Each of a few claims comes first in at least an eighth of all tries.
const deallocationTries = 120

// bindings decides about each pending pod with a scheduler of its own.
func (o *oracle) bindings(
	ctx context.Context, profile *schedulerapi.KubeSchedulerProfile, objects *cluster,
) ([]Binding, error) {
	made := make([]Binding, 0, len(objects.pending))
	for _, pod := range objects.pending {
		scheduler, err := newScheduler(ctx, o.shared, profile, objects)
		if err != nil {
			return nil, err
		}
		binding, err := scheduler.bind(pod)
		if err != nil {
			return nil, fmt.Errorf("binding %s: %w", keyOf(pod), err)
		}
		made = append(made, binding)
	}
	return made, nil
}

func (s *scheduler) bind(pod *v1.Pod) (Binding, error) {
	run := s.schedule(pod)
	made := Binding{Pod: keyOf(pod), Nodes: map[string]Reservation{}, Node: run.placement().Node}
	var err error
	switch {
	case made.Node != nil:
		if made.Nodes, err = run.reserveEverywhere(); err != nil {
			return made, err
		}
		// A cycle reserves once: what it reserved elsewhere would be written as well.
		made.PreBind, err = s.schedule(pod).preBind(*made.Node)
	case run.isUnschedulable() && s.devices.plugin != nil:
		made.PostFilter, err = run.deallocate()
	}
	return made, err
}

// reserveEverywhere reserves on each node that passes Filter, one after the other.
func (c *cycle) reserveEverywhere() (map[string]Reservation, error) {
	made := map[string]Reservation{}
	for _, node := range sortedKeys(c.verdict.Nodes) {
		if !c.verdict.Nodes[node].OK {
			continue
		}
		reserved, err := c.reserve(node)
		if err != nil {
			return nil, err
		}
		made[node] = reserved
	}
	return made, nil
}

// reserve reserves on a node and takes it back.
func (c *cycle) reserve(node string) (Reservation, error) {
	assumed := c.assumedOn(node)
	made := Reservation{Claims: map[string]any{}}
	status := c.framework.RunReservePluginsReserve(c.ctx, c.state, assumed, node)
	if !status.IsSuccess() {
		made.Refusal = refusalOf(status)
	}
	for _, claim := range c.devices.pending {
		made.Claims[keyOf(claim)] = allocationOf(claim.Status.Allocation)
	}
	c.framework.RunReservePluginsUnreserve(c.ctx, c.state, assumed, node)
	made.Unreserved = c.server.takeWrites()
	return made, c.server.reset()
}

// preBind reserves on the node, writes what PreBind writes, and gives up after that.
func (c *cycle) preBind(node string) (*PreBinding, error) {
	assumed := c.assumedOn(node)
	made := &PreBinding{Writes: []Write{}, Events: []Event{}, Unreserved: []Write{}}
	status := c.framework.RunReservePluginsReserve(c.ctx, c.state, assumed, node)
	if status.IsSuccess() {
		status = c.framework.RunPreBindPreFlights(c.ctx, c.state, assumed, node)
	}
	if status.IsSuccess() {
		ctx, cancel := c.withoutWaiting()
		defer cancel()
		status = c.framework.RunPreBindPlugins(ctx, c.state, assumed, node)
	}
	if !status.IsSuccess() && !status.IsSkip() {
		made.Refusal = refusalOf(status)
	}
	made.Writes = c.server.takeWrites()
	made.Events = append(made.Events, c.recorder.events...)
	c.framework.RunReservePluginsUnreserve(c.ctx, c.state, assumed, node)
	made.Unreserved = c.server.takeWrites()
	return made, c.server.reset()
}

// writeClaims does of PreBind only what DynamicResources does; it does not matter whether devices
// are ready.
func (c *cycle) writeClaims(assumed *v1.Pod, node string) {
	if c.devices.plugin != nil {
		ctx, cancel := c.withoutWaiting()
		defer cancel()
		c.devices.plugin.PreBind(ctx, c.state, assumed, node)
	}
}

// withoutWaiting lets DynamicResources look at the conditions of devices once; kube-scheduler looks
// again until its time is over.
func (c *cycle) withoutWaiting() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.ctx, time.Now())
}

func (c *cycle) assumedOn(node string) *v1.Pod {
	assumed := c.pod.DeepCopy()
	assumed.Spec.NodeName = node
	return assumed
}

// deallocate asks DynamicResources alone; of what it can do, it returns what is about the first of
// the pod's claims.
func (c *cycle) deallocate() (*Deallocation, error) {
	tries := 1
	if len(c.pod.Spec.ResourceClaims) > 1 {
		tries = deallocationTries
	}
	var first *Deallocation
	firstPlace := 0
	for range tries {
		_, status := c.devices.plugin.PostFilter(
			c.ctx, c.state, c.pod, c.diagnosis.NodeToStatus)
		made := &Deallocation{Refusal: refusalOf(status), Writes: c.server.takeWrites()}
		if place := c.placeOfClaim(made.Writes); first == nil || place < firstPlace {
			first, firstPlace = made, place
		}
		if err := c.server.reset(); err != nil {
			return nil, err
		}
	}
	return first, nil
}

// placeOfClaim returns where the claim that was written stands among those of the pod; the claim
// for extended resources stands last.
func (c *cycle) placeOfClaim(writes []Write) int {
	claims := c.pod.Spec.ResourceClaims
	for place, each := range claims {
		name, _, err := resourceclaim.Name(c.pod, &each)
		if err == nil && name != nil && isAbout(writes, c.pod.Namespace+"/"+*name) {
			return place
		}
	}
	return len(claims)
}

func isAbout(writes []Write, claim string) bool {
	return len(writes) > 0 && writes[0].Name == claim
}

// eventRecorder keeps the events of a case.
type eventRecorder struct {
	events []Event
}

// Eventf keeps an event.
func (r *eventRecorder) Eventf(
	_ runtime.Object, _ runtime.Object, kind, reason, action, note string, args ...any,
) {
	made := Event{Type: kind, Reason: reason, Action: action, Note: fmt.Sprintf(note, args...)}
	r.events = append(r.events, made)
}

// WithLogger returns the recorder itself.
func (r *eventRecorder) WithLogger(klog.Logger) events.EventRecorderLogger {
	return r
}
