// timing measures how fast kube-scheduler's own algorithm places a backlog, without an API server.
//
// It is kube-scheduler's own Scheduler as New makes it, with its queue, cache, snapshot and all
// defaults: sampling of nodes, parallelism 16, batching of equal pods. Every pod runs the way of its
// scheduling cycle: pop, update the snapshot, SchedulePod, assume, reserve. Nothing is bound, and no
// event is written. One JSON document comes in, one goes out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// Request is a cluster and its backlog; pods with a nodeName are there from the beginning.
type Request struct {
	Nodes []*v1.Node `json:"nodes"`
	Pods  []*v1.Pod  `json:"pods"`
	// PercentageOfNodesToScore is as in kube-scheduler's configuration: 0 is its default sampling.
	PercentageOfNodesToScore int32 `json:"percentageOfNodesToScore"`
}

// Response tells what became of the pods that had no node, and what that took.
type Response struct {
	Placed     int     `json:"placed"`
	Failed     int     `json:"failed"` // they fit nowhere
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"` // of all threads, the garbage collector's too
	Evaluated  int     `json:"evaluated"`  // nodes that were filtered, summed over pods
}

func main() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	if err := answer(); err != nil {
		fmt.Fprintln(os.Stderr, "timing:", err)
		os.Exit(1)
	}
}

func answer() error {
	var request Request
	decoder := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	if err := decoder.Decode(&request); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	made, err := newRun(ctx, &request)
	if err != nil {
		return err
	}
	response, err := made.timed()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(response)
}
