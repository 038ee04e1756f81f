{{- /*
policysched.kustomization reads the kustomization `folder` of deploy/, as `kubectl kustomize` does, and
stores its objects in `out.objects`. It knows the fields of kustomizations that deploy/ uses;
tests/deploy/chart/test_parity.py compares the result with that of kubectl. Names of generated ConfigMaps
get no hash.
*/}}
{{- define "policysched.kustomization" }}
{{- $files := .files }}
{{- $folder := .folder }}
{{- $kustomization := $files.Get (printf "%s/kustomization.yaml" $folder) | fromYaml }}
{{- $objects := list }}
{{- range concat ($kustomization.resources | default list) ($kustomization.components | default list) }}
{{-   if hasSuffix ".yaml" . }}
{{-     range splitList "\n---\n" ($files.Get (printf "%s/%s" $folder .)) }}
{{-       $objects = append $objects (fromYaml .) }}
{{-     end }}
{{-   else }}
{{-     $inner := dict "files" $files "folder" (clean (printf "%s/%s" $folder .)) "out" dict }}
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
{{-     $_ := set $data (base .) ($files.Get (printf "%s/%s" $folder .)) }}
{{-   end }}
{{-   $objects = append $objects (dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $metadata "data" $data) }}
{{- end }}
{{- range $object := $objects }}
{{-   range $patch := $kustomization.patches }}
{{-     if and (eq $patch.target.kind $object.kind) (eq $patch.target.name $object.metadata.name) }}
{{-       $_ := mergeOverwrite $object ($files.Get (printf "%s/%s" $folder $patch.path) | fromYaml) }}
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
