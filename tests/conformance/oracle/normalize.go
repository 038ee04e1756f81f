package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
)

// strategies are what kube-apiserver does on the creation of an object.
var strategies = map[string]rest.RESTCreateStrategy{
	"CSINode":               csinode.Strategy,
	"DeviceClass":           deviceclass.Strategy,
	"Node":                  node.Strategy,
	"PersistentVolume":      persistentvolume.Strategy,
	"PersistentVolumeClaim": persistentvolumeclaim.Strategy,
	"Pod":                   pod.Strategy,
	"PodDisruptionBudget":   poddisruptionbudget.Strategy,
	"PriorityClass":         priorityclass.Strategy,
	"ResourceClaim":         resourceclaim.NewStrategy(adminNamespaces(), nil),
	"ResourceSlice":         resourceslice.Strategy,
	"StorageClass":          storageclass.Strategy,
}

// adminNamespaces returns namespaces that all let claims see devices as an administrator.
func adminNamespaces() corev1client.NamespaceInterface {
	client := &fake.Clientset{}
	labels := map[string]string{resourceapi.DRAAdminNamespaceLabelKey: "true"}
	client.AddReactor("get", "namespaces",
		func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, nil
		})
	return client.CoreV1().Namespaces()
}

// normalize returns the objects as kube-apiserver would serve them had they been created there:
// defaulted and valid, pods with the priority of their class and matchLabelKeys in the selectors.
func normalize(given *cluster) (*List, error) {
	admitted, err := newPriorityAdmission(given)
	if err != nil {
		return nil, err
	}
	list := &List{APIVersion: "v1", Kind: "List", Items: []runtime.Object{}}
	for _, object := range given.objects {
		created, err := create(object, admitted)
		if err != nil {
			kind := object.GetObjectKind().GroupVersionKind().Kind
			return nil, fmt.Errorf("%s %s: %w", kind, keyOf(object), err)
		}
		list.Items = append(list.Items, created)
	}
	return list, nil
}

// newPriorityAdmission returns the admission plugin that resolves the classes of the cluster.
func newPriorityAdmission(given *cluster) (*priority.Plugin, error) {
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	classes := factory.Scheduling().V1().PriorityClasses().Informer().GetIndexer()
	for _, object := range given.objects {
		if object.GetObjectKind().GroupVersionKind().Kind == "PriorityClass" {
			if err := classes.Add(object); err != nil {
				return nil, err
			}
		}
	}
	plugin := priority.NewPlugin()
	plugin.SetExternalKubeClientSet(client)
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetReadyFunc(func() bool { return true }) // the informer is filled, never started
	return plugin, nil
}

// create returns an object as it is stored; what controllers, kubelets and the scheduler would add
// later (status, nodeName) is taken as it was given.
func create(object runtime.Object, priorities *priority.Plugin) (runtime.Object, error) {
	kind := object.GetObjectKind().GroupVersionKind()
	defaulted := object.DeepCopyObject()
	legacyscheme.Scheme.Default(defaulted)
	strategy, ok := strategies[kind.Kind]
	if !ok {
		return defaulted, nil
	}
	internal, err := toInternal(defaulted)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	strategy.PrepareForCreate(ctx, internal)
	created, isPod := internal.(*core.Pod)
	if isPod {
		if err := admitPod(ctx, created, priorities); err != nil {
			return nil, err
		}
	}
	if invalid := strategy.Validate(ctx, internal); len(invalid) > 0 {
		return nil, invalid.ToAggregate()
	}
	if isPod {
		return podWithStatusOf(defaulted.(*v1.Pod), created)
	}
	return defaulted, nil
}

func admitPod(ctx context.Context, created *core.Pod, priorities *priority.Plugin) error {
	attributes := admission.NewAttributesRecord(created, nil, core.Kind("Pod").WithVersion("v1"),
		created.Namespace, created.Name, core.Resource("pods").WithVersion("v1"), "",
		admission.Create, nil, false, nil)
	return priorities.Admit(ctx, attributes, nil)
}

// podWithStatusOf returns a created pod with the status that it had got by then.
func podWithStatusOf(given *v1.Pod, created *core.Pod) (*v1.Pod, error) {
	pod := &v1.Pod{}
	if err := legacyscheme.Scheme.Convert(created, pod, nil); err != nil {
		return nil, err
	}
	pod.TypeMeta = given.TypeMeta
	pod.Status = given.Status
	return pod, nil
}

func toInternal(object runtime.Object) (runtime.Object, error) {
	group := object.GetObjectKind().GroupVersionKind().Group
	target := schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal}
	return legacyscheme.Scheme.ConvertToVersion(object, target)
}
