package main

import (
	"context"
	"fmt"
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

// answer answers one request; verdicts and preemption go first, for placements change the state.
func (o *oracle) answer(request Request) (Response, error) {
	response := Response{Name: request.Name}
	asked := map[string]bool{}
	for _, question := range request.Ask {
		asked[question] = true
	}
	cluster, err := readCluster(request.Cluster)
	if err != nil {
		return response, fmt.Errorf("cluster: %w", err)
	}
	if asked["normalize"] {
		if response.Cluster, err = normalize(cluster); err != nil {
			return response, fmt.Errorf("normalize: %w", err)
		}
	}
	if !asked["verdict"] && !asked["preempt"] && !asked["place"] {
		return response, nil
	}
	profile, err := o.profiles.get(request.Config)
	if err != nil {
		return response, fmt.Errorf("config: %w", err)
	}
	ctx, cancel := context.WithCancel(o.ctx)
	defer cancel() // ends the goroutine that the cache started
	scheduler, err := newScheduler(ctx, o.shared, profile, cluster)
	if err != nil {
		return response, err
	}
	if asked["verdict"] {
		verdicts := scheduler.verdicts()
		response.Verdict = &verdicts
	}
	if asked["preempt"] {
		preemptions, err := scheduler.preemptions()
		if err != nil {
			return response, err
		}
		response.Preempt = &preemptions
	}
	if asked["place"] {
		placements, err := scheduler.placements()
		if err != nil {
			return response, err
		}
		response.Place = &placements
	}
	return response, nil
}
