package main

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Refusal is a status of a plugin that is no success.
type Refusal struct {
	Plugin  string   `json:"plugin,omitempty"`
	Code    string   `json:"code,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// NodeVerdict is what the filters say of a node: the first refusal, if any.
type NodeVerdict struct {
	OK bool `json:"ok"`
	*Refusal
}

// Verdict is what the framework says of a pod, considered alone.
type Verdict struct {
	Pod            string                      `json:"pod"`
	Gated          *Refusal                    `json:"gated,omitempty"`
	Prefilter      *Refusal                    `json:"prefilter"`
	PrefilterNodes []string                    `json:"prefilterNodes,omitempty"`
	Nodes          map[string]NodeVerdict      `json:"nodes"`
	Feasible       int                         `json:"feasible"`
	Scores         map[string]map[string]int64 `json:"scores"`
	Best           []string                    `json:"best"`
	Message        string                      `json:"message,omitempty"`
	Shortcut       string                      `json:"shortcut,omitempty"`
}

// cycle is a pod on its way through the framework.
type cycle struct {
	*scheduler
	pod       *v1.Pod
	state     fwk.CycleState
	diagnosis framework.Diagnosis
	feasible  []fwk.NodeInfo
	hasFailed bool   // an error, as opposed to a refusal
	unscored  string // the node that kube-scheduler takes without asking for scores
	verdict   Verdict
}

func (s *scheduler) verdicts() []Verdict {
	verdicts := make([]Verdict, 0, len(s.pending))
	for _, pod := range s.pending {
		verdicts = append(verdicts, s.schedule(pod).verdict)
	}
	return verdicts
}

// schedule runs everything up to the scores, on every node; gated pods are looked at as well.
func (s *scheduler) schedule(pod *v1.Pod) *cycle {
	made := &cycle{
		scheduler: s,
		pod:       pod,
		state:     framework.NewCycleState(),
		diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
		verdict: Verdict{
			Pod:    keyOf(pod),
			Gated:  s.gate(pod),
			Nodes:  map[string]NodeVerdict{},
			Scores: map[string]map[string]int64{},
			Best:   []string{},
		},
	}
	if err := made.run(); err != nil {
		made.fail(err)
	}
	return made
}

// gate returns the refusal that keeps a pod out of the active queue.
func (s *scheduler) gate(pod *v1.Pod) *Refusal {
	for _, plugin := range s.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(s.ctx, pod); !status.IsSuccess() {
			return refusalOf(status.WithPlugin(plugin.Name()))
		}
	}
	return nil
}

func (c *cycle) run() error {
	nodes, err := c.snapshot.List()
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		c.verdict.Message = "no nodes available to schedule pods"
		return nil
	}
	if err := c.filter(nodes); err != nil {
		return err
	}
	c.verdict.Feasible = len(c.feasible)
	if len(c.feasible) == 0 {
		c.verdict.Message = c.fitError(len(nodes)).Error()
		return nil
	}
	if len(c.feasible) == 1 {
		c.unscored = c.feasible[0].Node().Name
	}
	return c.score()
}

// fail replaces the outcome by that of an error, which lets no node be taken.
func (c *cycle) fail(err error) {
	c.hasFailed = true
	c.feasible = nil
	c.verdict.Feasible = 0
	c.verdict.Scores = map[string]map[string]int64{}
	c.verdict.Best = []string{}
	c.verdict.Shortcut = ""
	c.verdict.Message = err.Error()
}

func (c *cycle) fitError(nodes int) *framework.FitError {
	return &framework.FitError{Pod: c.pod, NumAllNodes: nodes, Diagnosis: c.diagnosis}
}

// filter tells the feasible nodes; it returns the first error of a plugin in the order of names.
func (c *cycle) filter(nodes []fwk.NodeInfo) error {
	chosen, status, plugins := c.framework.RunPreFilterPlugins(c.ctx, c.state, c.pod)
	c.diagnosis.UnschedulablePlugins = plugins
	if !status.IsSuccess() {
		return c.refuseEverywhere(status, nodes)
	}
	if !chosen.AllNodes() {
		c.verdict.PrefilterNodes = sets.List(chosen.NodeNames)
		text := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(plugins))
		c.diagnosis.NodeToStatus.SetAbsentNodesStatus(
			fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text))
	}
	c.takeShortcut(nodes)
	failed := map[string]error{}
	for _, node := range nodes {
		name := node.Node().Name
		if !chosen.AllNodes() && !chosen.NodeNames.Has(name) {
			c.refuse(name, c.diagnosis.NodeToStatus.Get(name))
			continue
		}
		status := c.filterNode(node)
		switch {
		case status.IsSuccess():
			c.feasible = append(c.feasible, node)
			c.verdict.Nodes[name] = NodeVerdict{OK: true}
		case status.Code() == fwk.Error:
			failed[name] = status.AsError()
			c.refuse(name, status)
		default:
			c.refuse(name, status)
		}
	}
	if len(failed) > 0 {
		return failed[sortedKeys(failed)[0]]
	}
	return nil
}

// filterNode runs the filters on a node and keeps a refusal for the message.
func (c *cycle) filterNode(node fwk.NodeInfo) *fwk.Status {
	status := c.framework.RunFilterPluginsWithNominatedPods(c.ctx, c.state, c.pod, node)
	if status.IsRejected() {
		c.diagnosis.NodeToStatus.Set(node.Node().Name, status)
		c.diagnosis.AddPluginStatus(status)
	}
	return status
}

// refuseEverywhere records that PreFilter failed.
func (c *cycle) refuseEverywhere(status *fwk.Status, nodes []fwk.NodeInfo) error {
	c.verdict.Prefilter = refusalOf(status)
	for _, node := range nodes {
		c.refuse(node.Node().Name, status)
	}
	if !status.IsRejected() {
		return status.AsError()
	}
	c.diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
	c.diagnosis.PreFilterMsg = status.Message()
	c.diagnosis.AddPluginStatus(status)
	return nil
}

// takeShortcut looks whether the nominated node fits: kube-scheduler then takes it unscored. It
// looks there first, and without asking whether PreFilter chose the node.
func (c *cycle) takeShortcut(nodes []fwk.NodeInfo) {
	for _, node := range nodes {
		if name := node.Node().Name; name == c.pod.Status.NominatedNodeName {
			if c.filterNode(node).IsSuccess() {
				c.verdict.Shortcut, c.unscored = name, name
			}
		}
	}
}

func (c *cycle) refuse(node string, status *fwk.Status) {
	c.verdict.Nodes[node] = NodeVerdict{Refusal: refusalOf(status)}
}

// score scores the feasible nodes, a single one too.
func (c *cycle) score() error {
	status := c.framework.RunPreScorePlugins(c.ctx, c.state, c.pod, c.feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	scored, status := c.framework.RunScorePlugins(c.ctx, c.state, c.pod, c.feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range scored {
		points := map[string]int64{"total": node.TotalScore}
		for _, plugin := range node.Scores {
			points[plugin.Name] = plugin.Score
		}
		c.verdict.Scores[node.Name] = points
	}
	c.verdict.Best = bestOf(scored)
	return nil
}

func bestOf(scored []fwk.NodePluginScores) []string {
	highest := slices.MaxFunc(scored, func(a, b fwk.NodePluginScores) int {
		return int(a.TotalScore - b.TotalScore)
	})
	best := []string{}
	for _, node := range scored {
		if node.TotalScore == highest.TotalScore {
			best = append(best, node.Name)
		}
	}
	slices.Sort(best)
	return best
}

func refusalOf(status *fwk.Status) *Refusal {
	reasons := slices.Clone(status.Reasons())
	if status.Plugin() == names.NodeResourcesFit {
		sortExtendedResources(reasons)
	}
	return &Refusal{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: reasons}
}

// sortExtendedResources gives the reasons about extended resources an order; kube-scheduler finds
// them in a map. Those about native resources stand before them.
func sortExtendedResources(reasons []string) {
	native := sets.New("Too many pods", "Insufficient cpu", "Insufficient memory",
		"Insufficient ephemeral-storage")
	first := slices.IndexFunc(reasons, func(reason string) bool { return !native.Has(reason) })
	if first >= 0 {
		slices.SortFunc(reasons[first:], strings.Compare)
	}
}
