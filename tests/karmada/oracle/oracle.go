package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/features"
	clusterlister "github.com/karmada-io/karmada/pkg/generated/listers/cluster/v1alpha1"
	schedulercache "github.com/karmada-io/karmada/pkg/scheduler/cache"
	"github.com/karmada-io/karmada/pkg/scheduler/core"
	"github.com/karmada-io/karmada/pkg/scheduler/framework"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins"
	"github.com/karmada-io/karmada/pkg/util/indexregistry"
)

// Result is where one binding goes, or why it goes nowhere.
type Result struct {
	Binding          string   `json:"binding"`
	Clusters         []Target `json:"clusters"`
	ErrorKind        string   `json:"errorKind"` // "", fit, unschedulable or other
	Error            string   `json:"error"`
	ObservedAffinity string   `json:"observedAffinity"`
}

// Target is a cluster with its replicas.
type Target struct {
	Name     string `json:"name"`
	Replicas int32  `json:"replicas"`
}

// oracle keeps one algorithm for each list of plugins: each starts a goroutine that never ends.
type oracle struct {
	clusters   cache.Indexer
	bindings   cache.Indexer
	algorithms map[string]core.ScheduleAlgorithm
}

func newOracle() *oracle {
	return &oracle{
		clusters: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
		bindings: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
			indexregistry.ResourceBindingIndexByAffinityGroup:     affinityGroup,
			indexregistry.ResourceBindingIndexByAntiAffinityGroup: antiAffinityGroup,
		}),
		algorithms: map[string]core.ScheduleAlgorithm{},
	}
}

// place decides about each binding of the request as if it were the only one to decide about.
func (o *oracle) place(request Request) ([]Result, error) {
	objects, err := readList(request.Cluster)
	if err != nil {
		return nil, err
	}
	if request.Gates != "" {
		if err := features.FeatureGate.Set(request.Gates); err != nil {
			return nil, err
		}
	}
	algorithm, err := o.algorithm(request)
	if err != nil {
		return nil, err
	}
	if err := o.clusters.Replace(objects.clusters, ""); err != nil {
		return nil, err
	}
	if err := o.bindings.Replace(objects.namespaced, ""); err != nil {
		return nil, err
	}
	option := &core.ScheduleAlgorithmOption{EnableEmptyWorkloadPropagation: request.Empty}
	results := make([]Result, 0, len(objects.bindings))
	for _, binding := range objects.bindings {
		results = append(results, decide(algorithm, option, binding))
	}
	return results, nil
}

func (o *oracle) algorithm(request Request) (core.ScheduleAlgorithm, error) {
	names := request.Plugins
	if len(names) == 0 {
		names = []string{"*"}
	}
	key := request.Gates + "|" + strings.Join(names, ",")
	if known, ok := o.algorithms[key]; ok {
		return known, nil
	}
	lister := clusterlister.NewClusterLister(o.clusters)
	registry := plugins.NewInTreeRegistry().Filter(names)
	made, err := core.NewGenericScheduler(schedulercache.NewCache(lister, o.bindings, 0), registry)
	if err == nil {
		o.algorithms[key] = made
	}
	return made, err
}

// binding is what ResourceBinding and ClusterResourceBinding have in common.
type binding struct {
	name   string
	spec   workv1alpha2.ResourceBindingSpec
	status workv1alpha2.ResourceBindingStatus
}

// decide runs the algorithm, once for each term of clusterAffinities until one succeeds.
func decide(algorithm core.ScheduleAlgorithm, option *core.ScheduleAlgorithmOption, b binding) Result {
	if b.spec.Placement == nil {
		return Result{Binding: b.name, Clusters: []Target{}, ErrorKind: "other", Error: "no placement"}
	}
	terms := b.spec.Placement.ClusterAffinities
	if len(terms) == 0 {
		outcome, err := algorithm.Schedule(context.Background(), &b.spec, &b.status, option)
		return result(b, outcome.SuggestedClusters, err, b.status.SchedulerObservedAffinityName)
	}
	first := 0
	for index, term := range terms {
		if b.status.SchedulerObservedAffinityName == term.AffinityName {
			first = index
			break
		}
	}
	var firstErr error
	for _, term := range terms[first:] {
		status := b.status.DeepCopy()
		status.SchedulerObservedAffinityName = term.AffinityName
		outcome, err := algorithm.Schedule(context.Background(), &b.spec, status, option)
		if err == nil {
			return result(b, outcome.SuggestedClusters, nil, term.AffinityName)
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return result(b, nil, firstErr, b.status.SchedulerObservedAffinityName)
}

func result(b binding, clusters []workv1alpha2.TargetCluster, err error, affinity string) Result {
	made := Result{Binding: b.name, Clusters: []Target{}, ObservedAffinity: affinity}
	if err != nil {
		made.Error, made.ErrorKind = err.Error(), errorKind(err)
		return made
	}
	for _, cluster := range clusters {
		made.Clusters = append(made.Clusters, Target{cluster.Name, cluster.Replicas})
	}
	return made
}

func errorKind(err error) string {
	var fit *framework.FitError
	var unschedulable *framework.UnschedulableError
	switch {
	case errors.As(err, &unschedulable):
		return "unschedulable"
	case errors.As(err, &fit):
		return "fit"
	}
	return "other"
}

// objects are those of a List that matter here.
type objects struct {
	clusters   []any
	namespaced []any
	bindings   []binding
}

func readList(text json.RawMessage) (objects, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	var found objects
	if err := json.Unmarshal(text, &list); err != nil {
		return found, err
	}
	for index, item := range list.Items {
		if err := found.add(item); err != nil {
			return found, fmt.Errorf("items[%d]: %w", index, err)
		}
	}
	return found, nil
}

func (o *objects) add(item json.RawMessage) error {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(item, &head); err != nil {
		return err
	}
	switch head.Kind {
	case "Cluster":
		cluster := &clusterv1alpha1.Cluster{}
		o.clusters = append(o.clusters, cluster)
		return json.Unmarshal(item, cluster)
	case "ResourceBinding":
		read := &workv1alpha2.ResourceBinding{}
		if err := json.Unmarshal(item, read); err != nil {
			return err
		}
		o.namespaced = append(o.namespaced, read)
		o.bindings = append(o.bindings, binding{read.Namespace + "/" + read.Name, read.Spec, read.Status})
	case "ClusterResourceBinding":
		read := &workv1alpha2.ClusterResourceBinding{}
		if err := json.Unmarshal(item, read); err != nil {
			return err
		}
		o.bindings = append(o.bindings, binding{read.Name, read.Spec, read.Status})
	}
	return nil
}

func affinityGroup(object any) ([]string, error) {
	groups := object.(*workv1alpha2.ResourceBinding).Spec.WorkloadAffinityGroups
	if groups == nil || groups.AffinityGroup == "" {
		return nil, nil
	}
	return []string{groups.AffinityGroup}, nil
}

func antiAffinityGroup(object any) ([]string, error) {
	groups := object.(*workv1alpha2.ResourceBinding).Spec.WorkloadAffinityGroups
	if groups == nil || groups.AntiAffinityGroup == "" {
		return nil, nil
	}
	return []string{groups.AntiAffinityGroup}, nil
}
