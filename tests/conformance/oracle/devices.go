package main

import (
	"context"
	"maps"

	resourceapi "k8s.io/api/resource/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// devices is kube-scheduler's own state of claims, slices and classes. It notes which claims the
// plugin DynamicResources has reserved, and keeps the plugin, to ask it alone.
type devices struct {
	*dynamicresources.DefaultDRAManager
	claims  *claimInformer
	pending map[types.UID]*resourceapi.ResourceClaim
	plugin  *dynamicresources.DynamicResources // nil where the profile does without it
}

// newDevices reads slices and classes from the informers.
func newDevices(
	ctx context.Context, factory informers.SharedInformerFactory, objects []apiruntime.Object,
) (*devices, error) {
	tracker, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		SliceInformer: factory.Resource().V1().ResourceSlices(),
	})
	if err != nil {
		return nil, err
	}
	claims := &claimInformer{}
	assumed := assumecache.NewAssumeCache(klog.FromContext(ctx), claims, "ResourceClaim", "", nil)
	made := &devices{
		DefaultDRAManager: dynamicresources.NewDRAManager(ctx, assumed, tracker, factory),
		claims:            claims,
		pending:           map[types.UID]*resourceapi.ResourceClaim{},
	}
	classes := made.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache)
	for _, object := range objects {
		switch typed := object.(type) {
		case *resourceapi.DeviceClass:
			classes.OnAdd(typed, true)
		case *resourceapi.ResourceClaim:
			claims.add(typed)
		}
	}
	return made, nil
}

// observedIn returns a registry whose DynamicResources is kept.
func (d *devices) observedIn(registry runtime.Registry) runtime.Registry {
	observed := maps.Clone(registry)
	observed[names.DynamicResources] = func(
		ctx context.Context, args apiruntime.Object, handle fwk.Handle,
	) (fwk.Plugin, error) {
		plugin, err := registry[names.DynamicResources](ctx, args, handle)
		if err == nil {
			d.plugin = plugin.(*dynamicresources.DynamicResources)
		}
		return plugin, err
	}
	return observed
}

// ResourceClaims is how the plugin reserves claims.
func (d *devices) ResourceClaims() fwk.ResourceClaimTracker {
	return pendingClaims{ResourceClaimTracker: d.DefaultDRAManager.ResourceClaims(), devices: d}
}

type pendingClaims struct {
	fwk.ResourceClaimTracker
	devices *devices
}

func (p pendingClaims) SignalClaimPendingAllocation(
	uid types.UID, claim *resourceapi.ResourceClaim,
) error {
	p.devices.pending[uid] = claim
	return p.ResourceClaimTracker.SignalClaimPendingAllocation(uid, claim)
}

func (p pendingClaims) MaybeRemoveClaimPendingAllocation(uid types.UID, isForced bool) bool {
	isRemoved := p.ResourceClaimTracker.MaybeRemoveClaimPendingAllocation(uid, isForced)
	if isRemoved {
		delete(p.devices.pending, uid)
	}
	return isRemoved
}

// claimInformer hands claims to the cache that registers with it, without goroutines.
type claimInformer struct {
	handlers []cache.ResourceEventHandler
}

// AddEventHandler is all that the cache of claims needs of an informer.
func (c *claimInformer) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	c.handlers = append(c.handlers, handler)
	return nil, nil
}

func (c *claimInformer) add(claim *resourceapi.ResourceClaim) {
	for _, handler := range c.handlers {
		handler.OnAdd(claim, false)
	}
}
