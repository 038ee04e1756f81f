package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
)

// oracle holds what all cases share.
type oracle struct {
	ctx      context.Context
	shared   *sharedParts
	profiles *profiles
}

func newOracle(ctx context.Context) *oracle {
	return &oracle{ctx: ctx, shared: newSharedParts(ctx), profiles: newProfiles()}
}

// answer answers one request.
func (o *oracle) answer(request Request) (Response, error) {
	response := Response{Name: request.Name}
	cluster, err := readCluster(request.Cluster)
	if err != nil {
		return response, fmt.Errorf("cluster: %w", err)
	}
	asked := sets.New(request.Ask...)
	if asked.Has("normalize") {
		if response.Cluster, err = normalize(cluster); err != nil {
			return response, fmt.Errorf("normalize: %w", err)
		}
	}
	if !asked.HasAny("verdict", "preempt", "rescore", "place", "bind", "extend") {
		return response, nil
	}
	configuration, err := o.profiles.get(request.Config)
	if err != nil {
		return response, fmt.Errorf("config: %w", err)
	}
	profile := &configuration.Profiles[0]
	ctx, cancel := context.WithCancel(o.ctx)
	defer cancel() // ends the goroutines of framework and cache
	if asked.Has("extend") {
		attempts, err := extendedAttempts(ctx, configuration.DeepCopy(), cluster)
		if err != nil {
			return response, err
		}
		response.Extend = &attempts
	}
	if asked.Has("bind") {
		bindings, err := o.bindings(ctx, profile, cluster)
		if err != nil {
			return response, err
		}
		response.Bind = &bindings
	}
	scheduler, err := newScheduler(ctx, o.shared, profile, cluster)
	if err != nil {
		return response, err
	}
	return response, scheduler.decide(asked, &response)
}

// decide asks the scheduler; placements come last, for they change the state.
func (s *scheduler) decide(asked sets.Set[string], response *Response) error {
	if asked.Has("verdict") {
		verdicts := s.verdicts()
		response.Verdict = &verdicts
	}
	if asked.Has("preempt") {
		preemptions, err := s.preemptions()
		if err != nil {
			return err
		}
		response.Preempt = &preemptions
	}
	if asked.Has("rescore") {
		rescores, err := s.rescores()
		if err != nil {
			return err
		}
		response.Rescore = &rescores
	}
	if asked.Has("place") {
		placements, err := s.placements()
		if err != nil {
			return err
		}
		response.Place = &placements
	}
	return nil
}
