package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

// Write is a request to the API server that changes an object, with what it has changed there.
type Write struct {
	Verb     string         `json:"verb"`
	Resource string         `json:"resource"` // with the subresource
	Name     string         `json:"name"`
	Value    map[string]any `json:"value,omitempty"` // afterwards: see changedPart
}

// firstVersion is higher than those in the cases, so that what is written counts as newer.
const firstVersion = 1_000_000

// recentlyAgo is before everything that is written, and after all times in the cases.
const recentlyAgo = time.Hour

// apiServer is an API server that has the claims of a case, and notes what is written about them and
// about the pods that are scheduled. The scheduler does not see what becomes of claims there, but
// for new ones.
type apiServer struct {
	client  *fake.Clientset
	objects []runtime.Object
	tracker clienttesting.ObjectTracker
	created func(*resourceapi.ResourceClaim)
	writes  []Write
	count   int
}

// newAPIServer has what can be written: claims, and the pending pods if any has to do with devices.
func newAPIServer(given *cluster) (*apiServer, error) {
	// The constructors of fake clients prepare for much that is not needed here.
	made := &apiServer{client: &fake.Clientset{}, created: func(*resourceapi.ResourceClaim) {}}
	hasClasses := false
	for _, object := range given.objects {
		switch object.(type) {
		case *resourceapi.ResourceClaim:
			made.objects = append(made.objects, object)
		case *resourceapi.DeviceClass:
			hasClasses = true
		}
	}
	if hasClasses {
		for _, pod := range given.pending {
			made.objects = append(made.objects, pod)
		}
	}
	made.client.AddReactor("*", "*", made.answer)
	return made, made.reset()
}

// reset undoes and forgets all writes.
func (a *apiServer) reset() error {
	a.writes = nil
	a.tracker = clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	for _, object := range a.objects {
		if err := a.tracker.Add(object); err != nil {
			return err
		}
	}
	return nil
}

// answer carries out a request; it is the only one at the time.
func (a *apiServer) answer(action clienttesting.Action) (bool, runtime.Object, error) {
	before, name := a.find(action)
	if err := a.complete(action, before); err != nil {
		return true, nil, err
	}
	handled, after, err := clienttesting.ObjectReaction(a.tracker)(action)
	if err != nil || !isWrite(action) {
		return handled, after, err
	}
	made := Write{Verb: action.GetVerb(), Resource: action.GetResource().Resource, Name: name}
	if subresource := action.GetSubresource(); subresource != "" {
		made.Resource += "/" + subresource
	}
	if claim, ok := after.(*resourceapi.ResourceClaim); ok && made.Verb == "create" {
		made.Name = keyOf(claim)
		a.created(claim.DeepCopy())
	}
	if after != nil {
		made.Value = changedPart(made, after)
	}
	// What changes nothing is no difference between two schedulers.
	if before == nil || after == nil || !reflect.DeepEqual(changedPart(made, before), made.Value) {
		a.writes = append(a.writes, made)
	}
	return handled, after, nil
}

// takeWrites returns what was written since the last time.
func (a *apiServer) takeWrites() []Write {
	taken := a.writes
	a.writes = nil
	if taken == nil {
		return []Write{}
	}
	return taken
}

// find returns the object that a request changes, if there is one, and its key.
func (a *apiServer) find(action clienttesting.Action) (runtime.Object, string) {
	name := ""
	switch typed := action.(type) {
	case clienttesting.UpdateActionImpl:
		if accessor, err := meta.Accessor(typed.Object); err == nil {
			name = accessor.GetName()
		}
	case clienttesting.PatchActionImpl:
		name = typed.Name
	case clienttesting.DeleteActionImpl:
		name = typed.Name
	}
	found, err := a.tracker.Get(action.GetResource(), action.GetNamespace(), name)
	if err != nil {
		return nil, name
	}
	return found, keyOf(found)
}

// complete fills in what an API server does: versions, and the identity of what is created. It
// refuses an update of another version than the newest one.
func (a *apiServer) complete(action clienttesting.Action, before runtime.Object) error {
	var object runtime.Object
	switch typed := action.(type) {
	case clienttesting.CreateActionImpl:
		object = typed.Object
	case clienttesting.UpdateActionImpl:
		object = typed.Object
	default:
		return nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if before != nil && versionOf(before) != accessor.GetResourceVersion() {
		return apierrors.NewConflict(action.GetResource().GroupResource(), accessor.GetName(),
			errors.New("the object has been modified"))
	}
	a.count++
	accessor.SetResourceVersion(fmt.Sprint(firstVersion + a.count))
	if action.GetVerb() == "create" {
		accessor.SetUID(types.UID("uid-of-" + accessor.GetGenerateName()))
		accessor.SetName(accessor.GetGenerateName() + "made")
	}
	return nil
}

func versionOf(object runtime.Object) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}

func isWrite(action clienttesting.Action) bool {
	switch action.GetVerb() {
	case "create", "update", "patch", "delete":
		resource := action.GetResource().Resource
		return resource == "resourceclaims" || resource == "pods"
	}
	return false
}

// changedPart returns of an object what such a request can change.
func changedPart(made Write, object runtime.Object) map[string]any {
	switch typed := object.(type) {
	case *resourceapi.ResourceClaim:
		switch {
		case made.Verb == "create":
			return map[string]any{
				"generateName":    typed.GenerateName,
				"annotations":     typed.Annotations,
				"ownerReferences": asJSON(typed.OwnerReferences),
				"spec":            asJSON(typed.Spec),
			}
		case made.Resource == "resourceclaims/status":
			return statusOf(typed)
		}
		return map[string]any{"finalizers": append([]string{}, typed.Finalizers...)}
	case *v1.Pod:
		status := typed.Status.ExtendedResourceClaimStatus
		return map[string]any{"extendedResourceClaimStatus": asJSON(status)}
	}
	return nil
}

func statusOf(claim *resourceapi.ResourceClaim) map[string]any {
	status := asJSON(claim.Status).(map[string]any)
	if claim.Status.Allocation != nil {
		status["allocation"] = allocationOf(claim.Status.Allocation)
	}
	return status
}

// allocationOf returns an allocation with numbers in place of the random identities of shares, and
// with `now` as the time at which it was made, if that was just now.
func allocationOf(allocation *resourceapi.AllocationResult) any {
	numbered := allocation.DeepCopy()
	number := 0
	for i := range numbered.Devices.Results {
		result := &numbered.Devices.Results[i]
		if result.ShareID != nil {
			number++
			shareID := types.UID(fmt.Sprint(number))
			result.ShareID = &shareID
		}
	}
	made := asJSON(numbered).(map[string]any)
	at := allocation.AllocationTimestamp
	if at != nil && time.Since(at.Time).Abs() < recentlyAgo {
		made["allocationTimestamp"] = "now"
	}
	return made
}

// asJSON returns a value in the form in which it is sent.
func asJSON(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // an object of the API always has a form
	}
	var made any
	if err := json.Unmarshal(text, &made); err != nil {
		panic(err)
	}
	return made
}
