package main

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Placement is where a pod went.
type Placement struct {
	Pod      string   `json:"pod"`
	Node     *string  `json:"node"`
	Best     []string `json:"best"`
	Score    *int64   `json:"score,omitempty"` // absent where nothing was compared
	Feasible int      `json:"feasible"`
	Message  string   `json:"message,omitempty"`
	Gated    *Refusal `json:"gated,omitempty"`
}

// placements schedules the pending pods one after the other, without preemption.
func (s *scheduler) placements() ([]Placement, error) {
	placements := make([]Placement, 0, len(s.pending))
	for _, pod := range inQueueOrder(s.pending) {
		placement, err := s.place(pod)
		if err != nil {
			return nil, fmt.Errorf("placing %s: %w", keyOf(pod), err)
		}
		placements = append(placements, placement)
	}
	return placements, nil
}

// inQueueOrder sorts as the PrioritySort plugin does pods that were added in this order.
func inQueueOrder(pods []*v1.Pod) []*v1.Pod {
	ordered := slices.Clone(pods)
	slices.SortStableFunc(ordered, func(a, b *v1.Pod) int {
		return int(int64(corev1helpers.PodPriority(b)) - int64(corev1helpers.PodPriority(a)))
	})
	return ordered
}

func (s *scheduler) place(pod *v1.Pod) (Placement, error) {
	if gate := s.gate(pod); gate != nil {
		return Placement{Pod: keyOf(pod), Best: []string{}, Gated: gate}, nil
	}
	logger := klog.FromContext(s.ctx)
	if err := s.cache.UpdateSnapshot(logger, s.snapshot); err != nil {
		return Placement{}, err
	}
	run := s.schedule(pod)
	placement := run.placement()
	if placement.Node == nil {
		return placement, nil
	}
	return placement, run.assume(&placement)
}

// placement chooses the node; ties go to the smallest name. Where kube-scheduler asks for no
// scores, nothing about them can fail.
func (c *cycle) placement() Placement {
	verdict := c.verdict
	placement := Placement{
		Pod:      verdict.Pod,
		Best:     verdict.Best,
		Feasible: verdict.Feasible,
		Message:  verdict.Message,
	}
	switch {
	case c.unscored != "":
		placement.Best = []string{c.unscored}
		placement.Feasible = max(verdict.Feasible, 1)
		placement.Message = ""
	case verdict.Feasible > 1:
		score := verdict.Scores[verdict.Best[0]]["total"]
		placement.Score = &score
	}
	if len(placement.Best) > 0 {
		placement.Node = &placement.Best[0]
	}
	return placement
}

// assume lets the pods that come later see this one on its node, and what it takes: volumes, and
// devices as they are once PreBind has written them.
func (c *cycle) assume(placement *Placement) error {
	logger := klog.FromContext(c.ctx)
	node := *placement.Node
	assumed := c.pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := c.cache.AssumePod(logger, assumed); err != nil {
		return err
	}
	c.queue.DeleteNominatedPodIfExists(assumed)
	status := c.framework.RunReservePluginsReserve(c.ctx, c.state, assumed, node)
	if status.IsSuccess() {
		c.writeClaims(assumed, node)
		return nil
	}
	c.framework.RunReservePluginsUnreserve(c.ctx, c.state, assumed, node)
	placement.Node, placement.Score, placement.Best = nil, nil, []string{}
	placement.Message = status.Message()
	if status.IsRejected() {
		statuses := framework.NewDefaultNodeToStatus()
		statuses.Set(node, status)
		refused := framework.FitError{
			Pod: c.pod, NumAllNodes: 1, Diagnosis: framework.Diagnosis{NodeToStatus: statuses},
		}
		placement.Message = refused.Error()
	}
	return c.cache.ForgetPod(logger, assumed)
}
