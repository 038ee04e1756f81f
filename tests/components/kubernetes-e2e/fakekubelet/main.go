// Command fakekubelet stands in for the kubelets of a cluster whose nodes exist as objects alone.
//
// It admits the pods that are bound to the nodes as the kubelet does, so that an overcommitment by
// a scheduler shows as a rejected pod, and reports those pods as running. It runs no containers.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	port := flag.Int("port", 0, "where the API server reaches the kubelets, on every loopback address of a node")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *kubeconfig, *port); err != nil {
		klog.ErrorS(err, "fakekubelet ends")
		klog.Flush()
		os.Exit(1)
	}
}

// run serves all nodes that exist now, until the context ends.
func run(ctx context.Context, kubeconfig string, port int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	nodes := factory.Core().V1().Nodes()
	kubelet := newKubelet(client, pods.Lister())
	if _, err := pods.Informer().AddEventHandler(kubelet.handler()); err != nil {
		return err
	}
	keeper := &nodeKeeper{client: client}
	if _, err := nodes.Informer().AddEventHandler(keeper.handler(ctx)); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced, nodes.Informer().HasSynced)
	if err := kubelet.serveExec(ctx, nodes.Lister(), port); err != nil {
		return err
	}
	go keeper.renewLeases(ctx, nodes.Lister())
	kubelet.work(ctx)
	return nil
}
