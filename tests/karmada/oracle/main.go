// The oracle answers where Karmada's scheduler places bindings: JSON lines in, JSON lines out.
//
// It runs the real scheduler's own algorithm (pkg/scheduler/core) with its own plugins and its
// general estimator, on objects that are read from the input instead of an API server.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// Request is one line of input.
type Request struct {
	Cluster json.RawMessage `json:"cluster"` // a v1 List
	Plugins []string        `json:"plugins"` // as of --plugins; none is all of them
	Empty   bool            `json:"empty"`   // --enable-empty-workload-propagation
	Gates   string          `json:"gates"`   // as of --feature-gates
}

// Response is one line of output.
type Response struct {
	Bindings []Result `json:"bindings"`
	Error    string   `json:"error,omitempty"`
}

func main() {
	silenceLogs()
	if err := answerLines(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// silenceLogs keeps klog from writing errors, which the answers tell anyway.
func silenceLogs() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
}

// answerLines answers every line before it reads the next one.
func answerLines(input io.Reader, output io.Writer) error {
	lines := bufio.NewReaderSize(input, 1<<20)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	oracle := newOracle()
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err := encoder.Encode(answer(oracle, line)); err != nil {
			return err
		}
	}
}

// answer turns whatever goes wrong with one line into an answer about that line.
func answer(oracle *oracle, line []byte) (response Response) {
	defer func() {
		if fault := recover(); fault != nil {
			response = Response{Error: fmt.Sprintf("panic: %v\n%s", fault, debug.Stack())}
		}
	}()
	var request Request
	if err := json.Unmarshal(line, &request); err != nil {
		return Response{Error: err.Error()}
	}
	results, err := oracle.place(request)
	if err != nil {
		return Response{Error: err.Error()}
	}
	return Response{Bindings: results}
}
