{{- /* Each template `policysched.edit.KIND` changes `object` of this kind as the values say. */}}

{{- define "policysched.edit.Deployment" }}
{{- $values := .root.Values }}
{{- $own := eq .object.metadata.name "policysched" | ternary $values $values.webhook }}
{{- $template := .object.spec.template }}
{{- $pod := $template.spec }}
{{- $_ := set .object.spec "replicas" $own.replicas }}
{{- range list "affinity" "nodeSelector" "priorityClassName" "tolerations" "topologySpreadConstraints" }}
{{-   if index $own . }}
{{-     $_ := set $pod . (index $own .) }}
{{-   end }}
{{- end }}
{{- with $values.imagePullSecrets }}
{{-   $_ := set $pod "imagePullSecrets" . }}
{{- end }}
{{- $container := first $pod.containers }}
{{- $_ := set $container "image" (include "policysched.image" .root) }}
{{- $_ := set $container "resources" $own.resources }}
{{- with $values.image.pullPolicy }}
{{-   $_ := set $container "imagePullPolicy" . }}
{{- end }}
{{- /* Pods read the configuration only at their start. The policies must not be part of this hash. */}}
{{- $hash := dict "checksum/config" (include "policysched.config" .root | sha256sum) }}
{{- $annotations := $template.metadata.annotations | default dict }}
{{- $_ := set $template.metadata "annotations" (merge $hash $annotations $values.podAnnotations) }}
{{- $_ := set $template.metadata "labels" (merge $template.metadata.labels $values.podLabels) }}
{{- end }}

{{- define "policysched.edit.ConfigMap" }}
{{- $policies := .root.Values.policies }}
{{- range $name, $text := $policies }}
{{-   if not (and (hasSuffix ".policy" $name) (kindIs "string" $text)) }}
{{-     fail (printf "policies: `%s` is no policy file: its name must end in .policy, and its value must be a text; --set-file needs a backslash before the dot: 'policies.web\\.policy=web.policy'" $name) }}
{{-   end }}
{{- end }}
{{- if and $policies (eq .object.metadata.name "policysched-policies") }}
{{-   $_ := set .object "data" $policies }}
{{- else if eq .object.metadata.name "policysched-config" }}
{{-   $_ := set .object "data" (dict "config.yaml" (include "policysched.config" .root)) }}
{{- end }}
{{- end }}

{{- define "policysched.edit.NetworkPolicy" }}
{{- with .root.Values.networkPolicy.from }}
{{-   $_ := set (first $.object.spec.ingress) "from" . }}
{{- end }}
{{- end }}

{{- define "policysched.edit.ValidatingWebhookConfiguration" }}
{{- with .root.Values.webhook.caBundle }}
{{-   $_ := set (first $.object.webhooks).clientConfig "caBundle" . }}
{{- end }}
{{- with .root.Values.webhook.annotations }}
{{-   $_ := set $.object.metadata "annotations" . }}
{{- end }}
{{- end }}

{{- define "policysched.image" -}}
{{- $image := .Values.image }}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* The text of the configuration: the file of deploy/base, or the fields of both together. */}}
{{- define "policysched.config" -}}
{{- $text := .Files.Get "base/config.yaml" -}}
{{- if .Values.config -}}
{{ mergeOverwrite (fromYaml $text) .Values.config | toYaml }}
{{ else -}}
{{ $text }}
{{- end -}}
{{- end }}
