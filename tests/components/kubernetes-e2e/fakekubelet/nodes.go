package main

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// As the kubelet: nodeLeaseDurationSeconds, and a quarter of it.
const (
	leaseDuration = 40 * time.Second
	leaseRenewal  = 10 * time.Second
)

// nodeKeeper does for the Node objects what their kubelets would.
type nodeKeeper struct {
	client kubernetes.Interface
}

func (n *nodeKeeper) handler(ctx context.Context) cache.ResourceEventHandler {
	follow := func(object any) {
		if err := n.followCapacity(ctx, object.(*v1.Node)); err != nil {
			klog.ErrorS(err, "allocatable resources do not follow the capacity")
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    follow,
		UpdateFunc: func(_, object any) { follow(object) },
	}
}

// followCapacity makes all of a node's capacity allocatable: tests edit the capacity alone.
func (n *nodeKeeper) followCapacity(ctx context.Context, seen *v1.Node) error {
	if equality.Semantic.DeepEqual(seen.Status.Capacity, seen.Status.Allocatable) {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := n.client.CoreV1().Nodes().Get(ctx, seen.Name, metav1.GetOptions{})
		if err != nil {
			return unlessGone(err)
		}
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
		_, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// renewLeases keeps the nodes alive for the node lifecycle controller.
func (n *nodeKeeper) renewLeases(ctx context.Context, nodes corelisters.NodeLister) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		all, _ := nodes.List(labels.Everything()) // a lister over a cache does not fail
		for _, node := range all {
			if err := n.renewLease(ctx, node); err != nil {
				klog.ErrorS(err, "a lease is not renewed", "node", klog.KObj(node))
			}
		}
	}, leaseRenewal)
}

func (n *nodeKeeper) renewLease(ctx context.Context, node *v1.Node) error {
	leases := n.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, node.Name, metav1.GetOptions{})
	isNew := apierrors.IsNotFound(err)
	if err != nil && !isNew {
		return err
	}
	if isNew {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name:            node.Name,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		}}
	}
	lease.Spec.HolderIdentity = ptr.To(node.Name)
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(leaseDuration.Seconds()))
	lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
	if isNew {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	return err
}

// unlessGone returns no error for an object that is gone.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
