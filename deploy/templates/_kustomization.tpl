{{- /*
policysched.kustomization reads the kustomization `folder` of deploy/, as `kubectl kustomize` does, and
stores its objects in `out.objects`. It knows the fields of kustomizations that deploy/ uses;
tests/deploy/test_chart.py compares the result with that of kubectl. Names of generated ConfigMaps
get no hash.
*/}}
{{- define "policysched.kustomization" }}
{{- $call := . }}
{{- $path := printf "%s/%%s" .folder }}
{{- $kustomization := .files.Get (printf $path "kustomization.yaml") | fromYaml }}
{{- $objects := list }}
{{- range concat ($kustomization.resources | default list) ($kustomization.components | default list) }}
{{-   if hasSuffix ".yaml" . }}
{{-     range splitList "\n---\n" ($call.files.Get (printf $path .)) }}
{{-       $objects = append $objects (fromYaml .) }}
{{-     end }}
{{-   else }}
{{-     $inner := dict "files" $call.files "folder" (clean (printf $path .)) "out" dict }}
{{-     include "policysched.kustomization" $inner }}
{{-     $objects = concat $objects $inner.out.objects }}
{{-   end }}
{{- end }}
{{- range $kustomization.configMapGenerator }}
{{-   $metadata := pick . "name" "namespace" }}
{{-   with (.options | default dict).labels }}
{{-     $_ := set $metadata "labels" . }}
{{-   end }}
{{-   $data := dict }}
{{-   range .files }}
{{-     $_ := set $data (base .) ($call.files.Get (printf $path .)) }}
{{-   end }}
{{-   $objects = append $objects (dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $metadata "data" $data) }}
{{- end }}
{{- range $object := $objects }}
{{-   range $patch := $kustomization.patches }}
{{-     if and (eq $patch.target.kind $object.kind) (eq $patch.target.name $object.metadata.name) }}
{{-       $_ := mergeOverwrite $object ($call.files.Get (printf $path $patch.path) | fromYaml) }}
{{-     end }}
{{-   end }}
{{-   range $kustomization.labels }}
{{-     $_ := set $object.metadata "labels" (merge dict .pairs ($object.metadata.labels | default dict)) }}
{{-   end }}
{{-   if and $kustomization.namespace (not (has $object.kind (list "ClusterRole" "ClusterRoleBinding"))) }}
{{-     $_ := set $object.metadata "namespace" $kustomization.namespace }}
{{-   end }}
{{- end }}
{{- $_ := set .out "objects" $objects }}
{{- end }}
