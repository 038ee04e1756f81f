package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/cert"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/klog/v2"
)

const streamTimeout = 30 * time.Second

// serveExec answers the API server on the address of every node.
func (k *kubelet) serveExec(ctx context.Context, nodes corelisters.NodeLister, port int) error {
	all, _ := nodes.List(labels.Everything()) // a lister over a cache does not fail
	certificate, err := ownCertificate()
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:   k.execHandler(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		// SPDY begins with an upgrade, which HTTP/2 does not have.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	context.AfterFunc(ctx, func() { server.Close() })
	for _, node := range all {
		listener, err := net.Listen("tcp", net.JoinHostPort(internalIP(node), strconv.Itoa(port)))
		if err != nil {
			return err
		}
		go func() {
			klog.InfoS("A node is served no longer", "node", klog.KObj(node), "reason", server.ServeTLS(listener, "", ""))
		}()
	}
	return nil
}

func ownCertificate() (tls.Certificate, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("fakekubelet", nil, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}

func internalIP(node *v1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == v1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}

// execHandler serves the path of the kubelet that `kubectl exec` reaches.
func (k *kubelet) execHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", func(answer http.ResponseWriter, request *http.Request) {
		options, err := remotecommand.NewOptions(request)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadRequest)
			return
		}
		pod, err := k.pods.Pods(request.PathValue("namespace")).Get(request.PathValue("pod"))
		if err != nil {
			http.Error(answer, err.Error(), http.StatusNotFound)
			return
		}
		remotecommand.ServeExec(
			answer, request, executor{k, pod}, pod.Name, string(pod.UID), request.PathValue("container"),
			request.URL.Query()["command"], options, streamTimeout, streamTimeout,
			remotecommand.SupportedStreamingProtocols,
		)
	})
	return mux
}

// executor answers commands in a pod's containers without running anything.
type executor struct {
	kubelet *kubelet
	pod     *v1.Pod
}

// ExecInContainer writes what the command would print, and succeeds.
func (e executor) ExecInContainer(
	_ context.Context, _, _, container string, command []string, _ io.Reader, out, _ io.WriteCloser, _ bool,
	_ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	words := strings.Join(command, " ")
	e.kubelet.failing.follow(e.pod, words)
	e.kubelet.queue.Add(cache.MetaObjectToName(e.pod).String())
	if out == nil {
		return nil
	}
	_, err := io.WriteString(out, output(e.pod, container, words))
	return err
}

// output returns what a command prints that reads a container's share of the CPU from cgroups of
// version 1, as the kubelet sets it: https://git.k8s.io/kubernetes/pkg/kubelet/cm/helpers_linux.go.
// Every other command prints nothing.
func output(pod *v1.Pod, container, command string) string {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != container || status.Resources == nil {
			continue
		}
		switch {
		case strings.HasSuffix(command, "/cpu.shares"):
			return fmt.Sprintln(max(status.Resources.Requests.Cpu().MilliValue()*1024/1000, 2))
		case strings.HasSuffix(command, "/cpu.cfs_quota_us") && status.Resources.Limits.Cpu().IsZero():
			return fmt.Sprintln(-1)
		case strings.HasSuffix(command, "/cpu.cfs_quota_us"):
			return fmt.Sprintln(max(status.Resources.Limits.Cpu().MilliValue()*100, 1000))
		}
	}
	return ""
}
