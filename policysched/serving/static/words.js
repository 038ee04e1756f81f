// The nouns of the views: pods on nodes, or bindings on the member clusters of a Karmada control
// plane. Answers have the same form for both, in which a binding is a pod and a cluster is a node.

const PODS = {
  areBindings: false,
  pod: "pod",
  node: "node",
  podPath: "pods",
  nodePath: "nodes",
  map: "Cluster",
  fits: "fits",
  fit: "fit",
  requested: "requested",
  zone: "topology.kubernetes.io/zone",
  withoutPolicies: "no policies: kube-scheduler's defaults",
};
const BINDINGS = {
  areBindings: true,
  pod: "binding",
  node: "cluster",
  podPath: "bindings",
  nodePath: "clusters",
  map: "Clusters",
  fits: "passes",
  fit: "pass",
  requested: "allocated",
  zone: "region",
  withoutPolicies: "no policies: karmada-scheduler's defaults",
};

/** The words in use. Importing modules see each change. */
export let words = PODS;

/** Takes the words for what the status says that the page shows. */
export function chooseWords(status) {
  words = status.shows === "bindings" ? BINDINGS : PODS;
}
