package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Candidate is a node where preemption would make room.
type Candidate struct {
	Victims       []string `json:"victims"` // most important first
	PDBViolations int64    `json:"pdbViolations,omitempty"`
}

// PreemptionFor is what preemption does for a pod, considered alone.
type PreemptionFor struct {
	Pod        string               `json:"pod"`
	Feasible   int                  `json:"feasible"`
	Nominated  *string              `json:"nominated"`
	Victims    []string             `json:"victims"`
	Deleted    []string             `json:"deleted"` // victims that are not being deleted already
	Best       []string             `json:"best"`
	Candidates map[string]Candidate `json:"candidates"`
	Message    string               `json:"message,omitempty"`
}

// preemptionObserver notes what the DefaultPreemption plugin finds, and keeps it from evicting.
type preemptionObserver struct {
	preemption.Interface
	plugin *defaultpreemption.DefaultPreemption
	lock   sync.Mutex
	found  map[string]*extenderv1.Victims
}

// observedIn returns a registry whose DefaultPreemption is observed. It evicts synchronously, so
// that no goroutine outlives the case; the choice is the same.
func (o *preemptionObserver) observedIn(registry runtime.Registry) runtime.Registry {
	observed := maps.Clone(registry)
	observed[names.DefaultPreemption] = func(
		ctx context.Context, args apiruntime.Object, handle fwk.Handle,
	) (fwk.Plugin, error) {
		gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
		gates.EnableAsyncPreemption = false
		plugin, err := defaultpreemption.New(ctx, args, handle, gates)
		if err != nil {
			return nil, err
		}
		o.plugin = plugin
		o.Interface = plugin.Evaluator.Interface
		plugin.Evaluator.Interface = o
		plugin.Executor.PreemptPod = func(
			context.Context, preemption.Candidate, preemption.ExecutorPreemptor, *v1.Pod, string,
		) error {
			return nil
		}
		return plugin, nil
	}
	return observed
}

// SelectVictimsOnNode is how the evaluator asks about one node.
func (o *preemptionObserver) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo,
	budgets []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	victims, violations, status := o.Interface.SelectVictimsOnNode(ctx, state, pod, node, budgets)
	if status.IsSuccess() && len(victims) > 0 {
		o.lock.Lock()
		defer o.lock.Unlock()
		o.found[node.Node().Name] = &extenderv1.Victims{
			Pods: victims, NumPDBViolations: int64(violations),
		}
	}
	return victims, violations, status
}

func (s *scheduler) preemptions() ([]PreemptionFor, error) {
	answers := make([]PreemptionFor, 0, len(s.pending))
	for _, pod := range s.pending {
		answer, err := s.preempt(pod)
		if err != nil {
			return nil, fmt.Errorf("preempting for %s: %w", keyOf(pod), err)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

func (s *scheduler) preempt(pod *v1.Pod) (PreemptionFor, error) {
	run := s.schedule(pod)
	answer := PreemptionFor{
		Pod:        run.verdict.Pod,
		Feasible:   run.verdict.Feasible,
		Victims:    []string{},
		Deleted:    []string{},
		Best:       []string{},
		Candidates: map[string]Candidate{},
		Message:    run.verdict.Message,
	}
	if run.unscored != "" {
		answer.Message = ""
	}
	if !run.isUnschedulable() {
		return answer, nil
	}
	s.preemption.found = map[string]*extenderv1.Victims{}
	statuses := run.diagnosis.NodeToStatus
	result, status := s.framework.RunPostFilterPlugins(s.ctx, run.state, pod, statuses)
	if err := s.server.reset(); err != nil {
		return answer, err
	}
	run.diagnosis.PostFilterMsg = status.Message()
	answer.Message = run.fitError(s.snapshot.NumNodesInPlacement()).Error()
	for node, victims := range s.preemption.found {
		answer.Candidates[node] = Candidate{
			Victims: keysOf(victims.Pods), PDBViolations: victims.NumPDBViolations,
		}
	}
	if !status.IsSuccess() || result == nil || result.NominatedNodeName == "" {
		return answer, nil
	}
	return answer, answer.nominate(s.preemption.found, result.NominatedNodeName)
}

// isUnschedulable tells whether PostFilter runs: nodes were refused, and nothing broke.
func (c *cycle) isUnschedulable() bool {
	return len(c.feasible) == 0 && !c.hasFailed && c.snapshot.NumNodesInPlacement() > 0
}

// nominate takes the smallest name of the nodes that kube-scheduler could have chosen; it takes
// any of them, in the order of a map.
func (p *PreemptionFor) nominate(found map[string]*extenderv1.Victims, chosen string) error {
	p.Best = bestCandidates(found)
	if !slices.Contains(p.Best, chosen) {
		return fmt.Errorf("kube-scheduler chose %s, but the best are %v", chosen, p.Best)
	}
	p.Nominated = &p.Best[0]
	victims := found[p.Best[0]].Pods
	p.Victims = keysOf(victims)
	for _, victim := range victims {
		if victim.DeletionTimestamp == nil {
			p.Deleted = append(p.Deleted, keyOf(victim))
		}
	}
	slices.Sort(p.Deleted)
	return nil
}

// bestCandidates returns the nodes that are equal on all criteria of preemption.go's
// pickOneNodeForPreemption, which itself returns only one of them.
func bestCandidates(found map[string]*extenderv1.Victims) []string {
	best := []string{}
	for _, node := range sortedKeys(found) {
		order := -1
		if len(best) > 0 {
			order = slices.Compare(costs(found[node]), costs(found[best[0]]))
		}
		switch {
		case order < 0:
			best = []string{node}
		case order == 0:
			best = append(best, node)
		}
	}
	return best
}

// costs returns the criteria in their order, the smaller the better: violated budgets, highest
// priority, sum of priorities (made positive), number of victims, and the start of the earliest of
// the most important victims, the later the better.
func costs(victims *extenderv1.Victims) []int64 {
	var sum int64
	for _, victim := range victims.Pods {
		sum += int64(corev1helpers.PodPriority(victim)) + math.MaxInt32 + 1
	}
	return []int64{
		victims.NumPDBViolations,
		int64(corev1helpers.PodPriority(victims.Pods[0])),
		sum,
		int64(len(victims.Pods)),
		-earliestStart(victims.Pods),
	}
}

// earliestStart returns when the first of the most important victims started. For those that have
// not started kube-scheduler takes the time of the comparison, which makes their order a matter of
// chance; here they are equal.
func earliestStart(victims []*v1.Pod) int64 {
	var earliest int64 = math.MaxInt64
	for _, victim := range victims {
		start := victim.Status.StartTime
		if start != nil && isAsImportant(victim, victims[0]) {
			earliest = min(earliest, start.UnixNano())
		}
	}
	return earliest
}

func isAsImportant(victim, first *v1.Pod) bool {
	return corev1helpers.PodPriority(victim) == corev1helpers.PodPriority(first)
}

func keysOf(pods []*v1.Pod) []string {
	keys := make([]string, 0, len(pods))
	for _, pod := range pods {
		keys = append(keys, keyOf(pod))
	}
	return keys
}
