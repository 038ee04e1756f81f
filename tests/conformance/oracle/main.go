// The oracle answers what kube-scheduler decides about a cluster: JSON lines in, JSON lines out.
//
// It runs kube-scheduler's own plugins in kube-scheduler's own framework runtime, cache and
// queue, on objects that are read from the input instead of an API server.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Request is one line of input.
type Request struct {
	Name    string          `json:"name"`
	Cluster json.RawMessage `json:"cluster"` // a v1 List
	Config  json.RawMessage `json:"config"`  // see profile.go
	Ask     []string        `json:"ask"`     // of verdict, place, preempt, bind, rescore, normalize, extend
}

// Response is one line of output; it has an answer for everything that was asked, or an error.
type Response struct {
	Name    string           `json:"name"`
	Cluster *List            `json:"cluster,omitempty"`
	Verdict *[]Verdict       `json:"verdict,omitempty"`
	Place   *[]Placement     `json:"place,omitempty"`
	Preempt *[]PreemptionFor `json:"preempt,omitempty"`
	Bind    *[]Binding       `json:"bind,omitempty"`
	Rescore *[]Rescore       `json:"rescore,omitempty"`
	Extend  *[]Attempt       `json:"extend,omitempty"`
	Error   string           `json:"error,omitempty"`
}

func main() {
	klog.SetLogger(logr.Discard())
	// Without this each error that a plugin logs costs a millisecond of rate limiting.
	utilruntime.ErrorHandlers = nil
	metrics.Register()
	if err := preparedForAttempts(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
	if err := answerLines(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// answerLines answers every line before it reads the next one.
func answerLines(input io.Reader, output io.Writer) error {
	lines := bufio.NewReaderSize(input, 1<<20)
	writer := bufio.NewWriterSize(output, 1<<20)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	oracle := newOracle(context.Background())
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := encoder.Encode(oracle.answerLine(line)); err != nil {
				return err
			}
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answerLine turns whatever goes wrong with a case, a panic too, into an answer.
func (o *oracle) answerLine(line []byte) (response Response) {
	var request Request
	defer func() {
		if cause := recover(); cause != nil {
			text := fmt.Sprintf("panic: %v\n%s", cause, debug.Stack())
			response = Response{Name: request.Name, Error: text}
		}
	}()
	if err := json.Unmarshal(line, &request); err != nil {
		return Response{Error: err.Error()}
	}
	response, err := o.answer(request)
	if err != nil {
		return Response{Name: request.Name, Error: err.Error()}
	}
	return response
}
