// The oracle answers what kube-scheduler's CEL says of devices: JSON lines in, JSON lines out.
//
// It compiles with the compiler that kube-scheduler uses for device selectors, and evaluates with
// the same program.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Request is one line of input.
type Request struct {
	Expression string   `json:"expression"`
	Devices    []Device `json:"devices"`
}

// Device has the fields of a device in a ResourceSlice that selectors see.
type Device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

// Response is one line of output: a compile error, or a result for each device.
type Response struct {
	CompileError string   `json:"compileError,omitempty"`
	Results      []Result `json:"results,omitempty"`
}

// Result is the answer for one device.
type Result struct {
	Matches bool   `json:"matches"`
	Error   string `json:"error,omitempty"`
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
	for {
		var request Request
		if err := decoder.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(answer(request)); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}

func answer(request Request) (response Response) {
	// Some constants, such as {b"a": 1}, make the compiler panic.
	defer func() {
		if reason := recover(); reason != nil {
			response = Response{CompileError: fmt.Sprint("panic: ", reason)}
		}
	}()
	features := cel.Features{EnableConsumableCapacity: true}
	// As the scheduler's cache does.
	options := cel.Options{DisableCostEstimation: true}
	compiled := cel.GetCompiler(features).CompileCELExpression(request.Expression, options)
	if compiled.Error != nil {
		return Response{CompileError: compiled.Error.Detail}
	}
	for _, device := range request.Devices {
		response.Results = append(response.Results, match(compiled, device))
	}
	return response
}

func match(compiled cel.CompilationResult, device Device) Result {
	matches, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   device.Driver,
		AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes:               device.Attributes,
		Capacity:                 device.Capacity,
	})
	if err != nil {
		return Result{Error: err.Error()}
	}
	return Result{Matches: matches}
}
