// The oracle answers what kube-scheduler's allocator does with claims: JSON lines in, JSON lines out.
//
// It runs the allocator that kube-scheduler 1.36 runs with its default feature gates, on one node.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// As kube-scheduler sets them from its default feature gates.
var features = structured.Features{
	AdminAccess:            true,
	ConsumableCapacity:     true,
	DeviceBindingAndStatus: true,
	DeviceTaints:           true,
	PartitionableDevices:   true,
	PrioritizedList:        true,
}

const selectorCacheSize = 100

// A search of this length means that policysched looked at much less, which is a difference.
const searchTimeout = 30 * time.Second

// Request is one line of input.
type Request struct {
	Node    *v1.Node                     `json:"node"`
	Slices  []*resourceapi.ResourceSlice `json:"slices"`
	Classes []*resourceapi.DeviceClass   `json:"classes"`
	// Claims without allocation, which are allocated together.
	Claims []*resourceapi.ResourceClaim `json:"claims"`
	// Claims with an allocation.
	Allocated []*resourceapi.ResourceClaim `json:"allocated"`
}

// Response is one line of output: an allocation for each claim, none, or an error.
type Response struct {
	Allocations []resourceapi.AllocationResult `json:"allocations,omitempty"`
	Error       string                         `json:"error,omitempty"`
	// Whether the error is about this node only.
	IsNodeError bool `json:"isNodeError,omitempty"`
}

func main() {
	if err := answerLines(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// answerLines answers every line before it reads the next one.
func answerLines(input io.Reader, output io.Writer) error {
	decoder := json.NewDecoder(bufio.NewReaderSize(input, 1<<20))
	writer := bufio.NewWriterSize(output, 1<<20)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	celCache := cel.NewCache(selectorCacheSize, cel.Features{EnableConsumableCapacity: true})
	for {
		var request Request
		if err := decoder.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(answer(request, celCache)); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}

func answer(request Request, celCache *cel.Cache) Response {
	ctx, cancel := context.WithTimeout(context.Background(), searchTimeout)
	defer cancel()
	allocator, err := structured.NewAllocator(ctx, features, allocatedState(request.Allocated),
		classLister(request.Classes), request.Slices, celCache)
	if err != nil {
		return Response{Error: err.Error()}
	}
	allocations, err := allocator.Allocate(ctx, request.Node, request.Claims)
	if err != nil {
		return Response{
			Error:       err.Error(),
			IsNodeError: errors.Is(err, structured.ErrFailedAllocationOnNode),
		}
	}
	numberShares(allocations)
	return Response{Allocations: allocations}
}

// numberShares replaces random identities by numbers in the order of results.
func numberShares(allocations []resourceapi.AllocationResult) {
	number := 0
	for _, allocation := range allocations {
		for i := range allocation.Devices.Results {
			result := &allocation.Devices.Results[i]
			if result.ShareID != nil {
				number++
				shareID := types.UID(fmt.Sprint(number))
				result.ShareID = &shareID
			}
		}
	}
}

// allocatedState collects devices from claims as the plugin of kube-scheduler does.
func allocatedState(claims []*resourceapi.ResourceClaim) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range claims {
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess {
				continue
			}
			device := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil {
				state.AllocatedDevices.Insert(device)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(device, result.ShareID))
			if result.ConsumedCapacity != nil {
				state.AggregatedCapacity.Insert(
					structured.NewDeviceConsumedCapacity(device, result.ConsumedCapacity))
			}
		}
	}
	return state
}

type classLister []*resourceapi.DeviceClass

func (l classLister) List() ([]*resourceapi.DeviceClass, error) {
	return l, nil
}

func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range l {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclass"), name)
}
