package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// Rescore is what the node of an assigned pod is worth for it, with everything else in place.
type Rescore struct {
	Pod   string `json:"pod"`
	Node  string `json:"node"`
	Score *int64 `json:"score"` // null where the pod would not be let onto its node
	Best  int64  `json:"best"`  // the highest score of any node
}

// rescores takes one assigned pod after the other off its node, and puts it back.
func (s *scheduler) rescores() ([]Rescore, error) {
	rescores := make([]Rescore, 0, len(s.running))
	for _, pod := range s.running {
		rescored, err := s.rescore(pod)
		if err != nil {
			return nil, fmt.Errorf("rescoring %s: %w", keyOf(pod), err)
		}
		rescores = append(rescores, rescored)
	}
	return rescores, nil
}

func (s *scheduler) rescore(pod *v1.Pod) (Rescore, error) {
	logger := klog.FromContext(s.ctx)
	if err := s.cache.RemovePod(logger, pod); err != nil {
		return Rescore{}, err
	}
	if err := s.cache.UpdateSnapshot(logger, s.snapshot); err != nil {
		return Rescore{}, err
	}
	unassigned := pod.DeepCopy()
	unassigned.Spec.NodeName = ""
	verdict := s.schedule(unassigned).verdict
	rescored := Rescore{Pod: verdict.Pod, Node: pod.Spec.NodeName}
	if points, ok := verdict.Scores[rescored.Node]; ok {
		total := points["total"]
		rescored.Score = &total
	}
	if len(verdict.Best) > 0 {
		rescored.Best = verdict.Scores[verdict.Best[0]]["total"]
	}
	return rescored, s.cache.AddPod(logger, pod)
}
