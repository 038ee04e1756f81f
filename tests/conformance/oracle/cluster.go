package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// List is the part of a v1 List that is read and written.
type List struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Items      []runtime.Object `json:"items"`
}

// cluster is everything that the scheduler would see through its informers.
type cluster struct {
	objects []runtime.Object // in the order of the input, terminated pods included
	nodes   []*v1.Node
	running []*v1.Pod // assigned to a node
	pending []*v1.Pod
}

func readCluster(text json.RawMessage) (*cluster, error) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	read := &cluster{}
	decoder := scheme.Codecs.UniversalDeserializer()
	for i, item := range list.Items {
		object, kind, err := decoder.Decode(item, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue // a custom resource, say: kube-scheduler knows nothing of it
		}
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		object.GetObjectKind().SetGroupVersionKind(*kind)
		read.add(object)
	}
	return read, nil
}

func (c *cluster) add(object runtime.Object) {
	c.objects = append(c.objects, object)
	switch typed := object.(type) {
	case *v1.Node:
		c.nodes = append(c.nodes, typed)
	case *v1.Pod:
		switch {
		case isTerminated(typed):
		case typed.Spec.NodeName != "":
			c.running = append(c.running, typed)
		default:
			c.pending = append(c.pending, typed)
		}
	}
}

// isTerminated tells which pods kube-scheduler's informer leaves out by a field selector.
func isTerminated(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// keyOf returns namespace/name, or the name of what has no namespace.
func keyOf(object runtime.Object) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	if namespace := accessor.GetNamespace(); namespace != "" {
		return namespace + "/" + accessor.GetName()
	}
	return accessor.GetName()
}
