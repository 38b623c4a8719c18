{{- define "machine-cloud.labels" -}}
app.kubernetes.io/name: machine-cloud
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "machine-cloud.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* What the pods that serve and the one that migrates have in common. */}}
{{- define "machine-cloud.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: data
    emptyDir: { sizeLimit: {{ .Values.dataSize }} }
  - name: temporary
    emptyDir: { sizeLimit: {{ .Values.temporarySize }} }
  - name: key
    secret:
      secretName: {{ .Values.key.secret }}
      defaultMode: 0440
{{- end }}

{{- define "machine-cloud.container" -}}
image: {{ include "machine-cloud.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef: { name: {{ .Values.environmentSecret }} }
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: data, mountPath: /data }
  - { name: temporary, mountPath: /tmp }
  - { name: key, mountPath: /data/cloud.key, subPath: cloud.key, readOnly: true }
{{- if .Values.key.releases }}
  - { name: key, mountPath: /data/release.key, subPath: release.key, readOnly: true }
{{- end }}
{{- end }}
