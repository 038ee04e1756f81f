package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

// schedulerName is the name of the only profile; it stands for all pending pods.
const schedulerName = "default-scheduler"

// profileConfig is how a case changes the default profile; the fields are those of a profile in
// kubescheduler.config.k8s.io/v1, with the weights and the disabled plugins by name, and the extenders
// of the whole configuration.
type profileConfig struct {
	PluginConfig []map[string]any `json:"pluginConfig"`
	Weights      map[string]int32 `json:"weights"`
	Disabled     []string         `json:"disabled"`
	Extenders    []map[string]any `json:"extenders"`
}

// profiles remembers the configurations that were asked for, each with one profile.
type profiles struct {
	known map[string]*schedulerapi.KubeSchedulerConfiguration
}

func newProfiles() *profiles {
	return &profiles{known: map[string]*schedulerapi.KubeSchedulerConfiguration{}}
}

// get reads a case's configuration as kube-scheduler reads its file: strictly, with defaults.
func (p *profiles) get(text json.RawMessage) (*schedulerapi.KubeSchedulerConfiguration, error) {
	if configuration, ok := p.known[string(text)]; ok {
		return configuration, nil
	}
	var given profileConfig
	if len(text) > 0 {
		if err := json.Unmarshal(text, &given); err != nil {
			return nil, err
		}
	}
	file, err := json.Marshal(given.configurationFile())
	if err != nil {
		return nil, err
	}
	decoded, _, err := configscheme.Codecs.UniversalDecoder().Decode(file, nil, nil)
	if err != nil {
		return nil, err
	}
	configuration, ok := decoded.(*schedulerapi.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("decoded a %T", decoded)
	}
	lookAtAllCandidates(&configuration.Profiles[0])
	p.known[string(text)] = configuration
	return configuration, nil
}

func (c profileConfig) configurationFile() map[string]any {
	enabled := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		enabled = append(enabled, map[string]any{"name": name, "weight": c.Weights[name]})
	}
	disabled := []map[string]any{}
	for _, name := range c.Disabled {
		disabled = append(disabled, map[string]any{"name": name})
	}
	return map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1",
		"kind":       "KubeSchedulerConfiguration",
		"extenders":  c.Extenders,
		"profiles": []map[string]any{{
			"schedulerName": schedulerName,
			"pluginConfig":  c.PluginConfig,
			// Names of default plugins stay where they are in the order of the plugins.
			"plugins": map[string]any{
				"multiPoint": map[string]any{"enabled": enabled, "disabled": disabled},
			},
		}},
	}
}

// lookAtAllCandidates makes preemption independent of chance: kube-scheduler tries a tenth of the
// nodes, at least 100, from a random one on.
func lookAtAllCandidates(profile *schedulerapi.KubeSchedulerProfile) {
	for _, plugin := range profile.PluginConfig {
		if args, ok := plugin.Args.(*schedulerapi.DefaultPreemptionArgs); ok {
			args.MinCandidateNodesPercentage = 100
		}
	}
}
