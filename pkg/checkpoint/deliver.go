package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

const (
	// A delivery that fails is tried again after a pause, doubled each time.
	pauseMin = 250 * time.Millisecond
	pauseMax = 10 * time.Second

	// signalTime is how long sending a signal may take. A command and a request
	// have all of the grace: they may save before they answer.
	signalTime = 10 * time.Second
)

// Runner runs a command in a container and returns when it has ended: nil for
// exit code 0.
type Runner interface {
	Run(ctx context.Context, pod *corev1.Pod, container string, command []string) error
}

// Poster sends a body to a URL and returns the status code of the answer.
type Poster interface {
	Post(ctx context.Context, url string, body []byte) (status int, err error)
}

// delivery is a notice on its way.
type delivery struct {
	Notice
	kind  batch.Delivery
	means convert.Means
}

// answer is what a pod has said to a delivery.
type answer int

const (
	heard answer = iota // it was told, and will say by itself when it has saved
	saved               // its work is saved
)

// begin delivers a notice to a pod, in a goroutine of its own, unless that is
// under way or done.
func (c *Courier) begin(d delivery, pod *corev1.Pod) {
	if d.delivered(pod) || pod.DeletionTimestamp != nil || !c.Clock.Now().Before(d.Until) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.underWay[pod.UID] == d.id() {
		return
	}
	c.underWay[pod.UID] = d.id()
	c.group.Go(func() {
		defer c.ended(pod, d)
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		case <-c.life.Done():
			return
		}
		ctx, cancel := context.WithDeadline(c.life, d.Until)
		defer cancel()
		c.carry(ctx, d, pod)
	})
}

func (c *Courier) ended(pod *corev1.Pod, d delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.underWay[pod.UID] == d.id() {
		delete(c.underWay, pod.UID)
	}
}

// carry tries until the pod has heard, or is gone, or there is no time left.
func (c *Courier) carry(ctx context.Context, d delivery, pod *corev1.Pod) {
	told := false
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		got, err := c.try(ctx, d, pod)
		if err == nil {
			c.note(ctx, d, pod, got)
			return
		}
		if !c.there(ctx, pod) {
			return // it has ended: there is nobody to tell
		}
		if !told && ctx.Err() == nil {
			told = true
			c.warn(pod, fmt.Sprintf("the notice (%s) could not be delivered to pod %s by %s, and is tried again until %s: %v",
				d.Cause, pod.Name, d.kind, d.Until.UTC().Format(time.RFC3339), err))
		}
		timer := c.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			if c.life.Err() == nil {
				c.warn(pod, fmt.Sprintf("the notice (%s) did not reach pod %s by %s before its grace was over: %v", d.Cause, pod.Name, d.kind, err))
			}
			return
		case <-timer.C():
		}
	}
}

// there says whether a pod still runs. What can't be read counts as running.
func (c *Courier) there(ctx context.Context, pod *corev1.Pod) bool {
	now := &corev1.Pod{}
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(pod), now)
	if err != nil {
		return client.IgnoreNotFound(err) != nil
	}
	return now.UID == pod.UID && !convert.Pod(now).Terminal() && now.DeletionTimestamp == nil
}

// note puts on record that the notice was delivered, and, if the pod has said
// so, that its work is saved.
func (c *Courier) note(ctx context.Context, d delivery, pod *corev1.Pod, got answer) {
	marks := map[string]string{v1alpha1.NoticeDeliveredAnnotation: d.id()}
	if got == saved {
		marks[v1alpha1.CheckpointedAtAnnotation] = c.Clock.Now().UTC().Format(time.RFC3339)
	}
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		err := c.annotate(ctx, pod, marks)
		if err == nil {
			return
		}
		timer := c.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			if c.life.Err() == nil {
				c.warn(pod, fmt.Sprintf("pod %s was told, but it could not be written down: %v", pod.Name, err))
			}
			return
		case <-timer.C():
		}
	}
}

// try delivers once.
func (c *Courier) try(ctx context.Context, d delivery, pod *corev1.Pod) (answer, error) {
	container := d.means.Container
	if container == "" {
		container = pod.Spec.Containers[0].Name
	}
	switch d.kind {
	case batch.DeliverSignal:
		return heard, c.signal(ctx, pod, container, d.means.Signal)
	case batch.DeliverExec:
		return saved, c.Exec.Run(ctx, pod, container, d.means.Command)
	case batch.DeliverHTTP:
		return c.post(ctx, d, pod)
	case batch.DeliverTerm, batch.DeliverAnnotation:
	}
	return heard, nil
}

// signal sends a signal to process 1 of a container. Images without a shell may
// have the program kill, those without it have a shell that knows it.
func (c *Courier) signal(ctx context.Context, pod *corev1.Pod, container, name string) error {
	ctx, cancel := context.WithTimeout(ctx, signalTime)
	defer cancel()
	err := c.Exec.Run(ctx, pod, container, []string{"/bin/sh", "-c", "kill -s " + name + " 1"})
	if err == nil || ctx.Err() != nil {
		return err
	}
	if second := c.Exec.Run(ctx, pod, container, []string{"kill", "-s", name, "1"}); second != nil {
		return fmt.Errorf("neither its shell nor the program kill could send it: %w", err)
	}
	return nil
}

var errNoAddress = errors.New("the pod has no address yet")

// post sends the notice to a pod. 200 and 204 say that its work is saved, any
// other success that it will say so itself.
func (c *Courier) post(ctx context.Context, d delivery, pod *corev1.Pod) (answer, error) {
	if pod.Status.PodIP == "" {
		return heard, errNoAddress
	}
	url := "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(d.means.Port)) + d.means.Path
	status, err := c.Post.Post(ctx, url, []byte(d.text()))
	switch {
	case err != nil:
		return heard, err
	case status == http.StatusOK, status == http.StatusNoContent:
		return saved, nil
	case status > http.StatusOK && status < http.StatusMultipleChoices:
		return heard, nil
	}
	return heard, fmt.Errorf("POST %s was answered with %s", url, strings.TrimSpace(fmt.Sprint(status, " ", http.StatusText(status))))
}

func (c *Courier) warn(pod *corev1.Pod, note string) {
	c.Tell(aboutPod(pod), corev1.EventTypeWarning, EventUndelivered, "Notify", note)
}

func aboutPod(pod *corev1.Pod) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: convert.KindPod, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}
