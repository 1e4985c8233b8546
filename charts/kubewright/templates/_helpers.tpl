{{- define "kubewright.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kubewright.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kubewright.labels" -}}
{{ include "kubewright.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "kubewright.account" -}}
{{- .Values.serviceAccount.name | default (ternary (include "kubewright.name" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "kubewright.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Names of the packs that are on, as a JSON list. */}}
{{- define "kubewright.packs" -}}
{{- $packs := list -}}
{{- range $name, $pack := .Values.packs -}}
{{- if $pack.enabled -}}{{- $packs = append $packs $name -}}{{- end -}}
{{- end -}}
{{- $packs | toJson -}}
{{- end -}}

{{/* "true" or nothing: whether replicas agree which of them works. */}}
{{- define "kubewright.elects" -}}
{{- $enabled := toString .Values.leaderElection.enabled -}}
{{- if or (eq $enabled "true") (and (eq $enabled "auto") (gt (int .Values.replicas) 1)) -}}true{{- end -}}
{{- end -}}

{{/* "true" or nothing: whether there are Leases. */}}
{{- define "kubewright.leases" -}}
{{- if or (include "kubewright.elects" .) (gt (int .Values.shards) 1) -}}true{{- end -}}
{{- end -}}

{{/* Values that do not go together. */}}
{{- define "kubewright.check" -}}
{{- $packs := include "kubewright.packs" . | fromJsonArray -}}
{{- $own := or .Values.rules .Values.ruleSources.configMaps .Values.ruleSources.imageFolder -}}
{{- if not (or $packs $own) -}}
{{- fail "there is no rule to run: switch a pack on (--set packs.webapp.enabled=true), or give rules, ruleSources.configMaps or ruleSources.imageFolder" -}}
{{- end -}}
{{- if and .Values.ruleSources.imageFolder (or $packs .Values.rules .Values.templates) -}}
{{- fail "ruleSources.imageFolder leaves no place for packs, rules and templates: put them into the image, or leave imageFolder empty" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not (include "kubewright.leases" .)) -}}
{{- fail "several replicas without leader election all do the same work: set leaderElection.enabled to auto or true" -}}
{{- end -}}
{{- if and .Values.availability.fence (not (include "kubewright.elects" .)) -}}
{{- fail "availability.fence needs a leader, whose Lease it asks: set leaderElection.enabled to true, or availability.fence to false" -}}
{{- end -}}
{{- if and .Values.availability.fence (gt (int .Values.shards) 1) -}}
{{- fail "availability.fence knows one Lease, and each shard has its own: set shards to 1, or availability.fence to false" -}}
{{- end -}}
{{- if and .Values.availability.fence (not (regexMatch "^[a-z0-9][a-z0-9-]*$" .Values.installation)) -}}
{{- fail "availability.fence has to know the name of the Lease: give an installation of small letters, digits and `-`, or set availability.fence to false" -}}
{{- end -}}
{{- end -}}
