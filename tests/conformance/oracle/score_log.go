package main

import (
	"fmt"

	"github.com/go-logr/logr"
)

// finalScore is what kube-scheduler logs with the total of a node, that of the extenders included;
// nothing else tells of it.
const finalScore = "Calculated node's final score for pod"

// scoreLog notes the total score of each node from the log.
type scoreLog struct {
	nodes  []string // one that extenders repeat is there several times
	totals map[string]int64
}

func (s *scoreLog) logger() logr.Logger {
	return logr.New(s)
}

func (s *scoreLog) reset() {
	s.nodes, s.totals = nil, map[string]int64{}
}

// best returns the smallest name of the nodes with the highest total.
func (s *scoreLog) best() string {
	best := ""
	for _, node := range sortedKeys(s.totals) {
		if best == "" || s.totals[node] > s.totals[best] {
			best = node
		}
	}
	return best
}

// Init does nothing.
func (s *scoreLog) Init(logr.RuntimeInfo) {}

// Enabled lets kube-scheduler log everything, for scores are in the last level.
func (s *scoreLog) Enabled(int) bool {
	return true
}

// Info is called with each message.
func (s *scoreLog) Info(_ int, message string, pairs ...any) {
	if message != finalScore {
		return
	}
	values := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	node := values["node"].(string)
	s.nodes = append(s.nodes, node)
	s.totals[node] = values["score"].(int64)
}

// Error is called with each error.
func (s *scoreLog) Error(error, string, ...any) {}

// WithValues returns the log itself.
func (s *scoreLog) WithValues(...any) logr.LogSink {
	return s
}

// WithName returns the log itself.
func (s *scoreLog) WithName(string) logr.LogSink {
	return s
}
