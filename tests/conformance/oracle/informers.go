package main

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// fillInformers puts the objects where the listers of the plugins read them. The informers are
// never started: a watch per kind and case would cost more than everything else, and all plugins
// read only the indexers.
func fillInformers(factory informers.SharedInformerFactory, objects []runtime.Object) error {
	for _, object := range objects {
		informer := informerOf(factory, object)
		if informer == nil {
			continue
		}
		if err := informer.GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

// informerOf returns the informer for an object, nil for kinds that kube-scheduler does not read,
// and for claims, which have a cache of their own.
func informerOf(
	factory informers.SharedInformerFactory, object runtime.Object,
) cache.SharedIndexInformer {
	core, storage := factory.Core().V1(), factory.Storage().V1()
	resource := factory.Resource().V1()
	switch typed := object.(type) {
	case *v1.Node:
		return core.Nodes().Informer()
	case *v1.Pod:
		if isTerminated(typed) {
			return nil
		}
		return core.Pods().Informer()
	case *v1.Namespace:
		return core.Namespaces().Informer()
	case *v1.Service:
		return core.Services().Informer()
	case *v1.ReplicationController:
		return core.ReplicationControllers().Informer()
	case *appsv1.ReplicaSet:
		return factory.Apps().V1().ReplicaSets().Informer()
	case *appsv1.StatefulSet:
		return factory.Apps().V1().StatefulSets().Informer()
	case *policyv1.PodDisruptionBudget:
		return factory.Policy().V1().PodDisruptionBudgets().Informer()
	case *v1.PersistentVolume:
		return core.PersistentVolumes().Informer()
	case *v1.PersistentVolumeClaim:
		return core.PersistentVolumeClaims().Informer()
	case *storagev1.StorageClass:
		return storage.StorageClasses().Informer()
	case *storagev1.CSINode:
		return storage.CSINodes().Informer()
	case *storagev1.CSIDriver:
		return storage.CSIDrivers().Informer()
	case *storagev1.CSIStorageCapacity:
		return storage.CSIStorageCapacities().Informer()
	case *storagev1.VolumeAttachment:
		return storage.VolumeAttachments().Informer()
	case *resourceapi.ResourceSlice:
		return resource.ResourceSlices().Informer()
	case *resourceapi.DeviceClass:
		return resource.DeviceClasses().Informer()
	}
	return nil
}
