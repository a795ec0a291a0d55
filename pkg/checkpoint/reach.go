package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/berth-dev/berth/pkg/convert"
)

const (
	// outputMax is how much of what a command has printed goes into an error.
	outputMax = 256
	// dialTime is how long a connection to a pod may take.
	dialTime = 3 * time.Second
	// answerMax is how much of an answer's body is read before it is dropped.
	answerMax = 64 << 10
)

// Containers runs commands in containers, by way of the API server.
type Containers struct {
	config *rest.Config
	client rest.Interface
}

// NewContainers makes one of a connection to an API server.
func NewContainers(config *rest.Config) (*Containers, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // what is urgent waits for nobody
	pods, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for exec: %w", err)
	}
	return &Containers{config: config, client: pods.RESTClient()}, nil
}

// Run implements Runner.
func (c *Containers) Run(ctx context.Context, pod *corev1.Pod, container string, command []string) error {
	request := c.client.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, request.URL().String())
	if err != nil {
		return fmt.Errorf("run %s: %w", command[0], err)
	}
	var printed head
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &printed, Stderr: &printed}); err != nil {
		if text := strings.TrimSpace(printed.String()); text != "" {
			return fmt.Errorf("run %s in container %s: %w: %s", command[0], container, err, text)
		}
		return fmt.Errorf("run %s in container %s: %w", command[0], container, err)
	}
	return nil
}

// head keeps the first part of what is written to it, by both streams at once.
type head struct {
	mu   sync.Mutex
	text []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text = append(h.text, p[:min(outputMax-len(h.text), len(p))]...)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.text)
}

// Pods sends requests to pods.
type Pods struct{ client *http.Client }

// NewPods makes one that connects directly, and follows nobody elsewhere.
func NewPods() *Pods {
	return &Pods{client: &http.Client{
		Transport:     &http.Transport{DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Post implements Poster.
func (p *Pods) Post(ctx context.Context, url string, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("request to %s: %w", convert.Cut(url, outputMax), err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := p.client.Do(request)
	if err != nil {
		return 0, err // it says method and URL
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, answerMax)) // its words say nothing to us
	return answer.StatusCode, nil
}
