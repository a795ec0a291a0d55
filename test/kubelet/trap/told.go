package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/test/kubelet/evidence"
)

// Annotations of the pod, by which it and Berth talk.
const (
	noticeAnnotation       = "berth.dev/notice"
	checkpointedAnnotation = "berth.dev/checkpointed-at"
)

// serve saves at POST /checkpoint.
func (t *trap) serve() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /checkpoint", func(w http.ResponseWriter, r *http.Request) {
		t.tell(evidence.Request, r.Method+" "+r.URL.Path)
		if t.status != 0 {
			http.Error(w, "told to refuse", t.status)
			return
		}
		t.save()
		w.WriteHeader(http.StatusNoContent)
	})
	server := &http.Server{Addr: t.listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	t.tell(evidence.Failed, server.ListenAndServe().Error())
}

// annotationsFile is where the pod's volume of the downward API has them.
const annotationsFile = "/podinfo/annotations"

// awaitNotice tells of the notice once, when the kubelet has written it.
func (t *trap) awaitNotice(told chan<- string) {
	for {
		if text, ok := annotation(noticeAnnotation); ok {
			told <- text
			return
		}
		time.Sleep(evidence.Pulse)
	}
}

// annotation reads one from a file with a line KEY="QUOTED VALUE" for each.
func annotation(key string) (string, bool) {
	raw, err := os.ReadFile(annotationsFile)
	if err != nil {
		return "", false // not every pod has such a volume
	}
	for line := range strings.Lines(string(raw)) {
		name, quoted, _ := strings.Cut(strings.TrimSpace(line), "=")
		if text, err := strconv.Unquote(quoted); err == nil && name == key {
			return text, true
		}
	}
	return "", false
}

// podName is this pod's.
func podName() string { return os.Getenv("POD_NAME") }

// account is where a pod finds who it is for the API server.
const account = "/var/run/secrets/kubernetes.io/serviceaccount"

// acknowledge writes the annotation that says when something was saved, as a
// pod of any language would: by one PATCH with its service account's token.
func acknowledge(at time.Time) error {
	namespace, err := os.ReadFile(filepath.Join(account, "namespace"))
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{checkpointedAnnotation: at.UTC().Format(time.RFC3339)}}})
	if err != nil {
		return err
	}
	server := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	request, err := http.NewRequest(http.MethodPatch, fmt.Sprintf("https://%s/api/v1/namespaces/%s/pods/%s", server, namespace, podName()), bytes.NewReader(patch))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	return send(request)
}

func send(request *http.Request) error {
	token, err := os.ReadFile(filepath.Join(account, "token"))
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(filepath.Join(account, "ca.crt"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return errors.New("no certificate in ca.crt")
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return nil
}
