package sandbox

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports that sandboxes use: below the range from which operating systems
// take the local ports of outgoing connections, so that a connection made
// between our choice and a server's start rarely takes one of them.
const (
	portLowest  = 20000
	portHighest = 32000
)

// loopback is the only address that anything here listens on.
const loopback = "127.0.0.1"

// freePorts chooses n different loopback ports on which nobody listens. They
// are free, not held: a server that finds its port taken after all makes `up`
// start over with others.
func freePorts(n int, listen func(address string) (net.Listener, error)) ([]int, error) {
	const triesPerPort = 200
	ports := make([]int, 0, n)
	var lastErr error
	for range n * triesPerPort {
		if len(ports) == n {
			return ports, nil
		}
		port := portLowest + rand.IntN(portHighest-portLowest)
		listener, err := listen(address(port))
		if err != nil {
			lastErr = err
			continue
		}
		// Held until all are chosen, so that none is chosen twice.
		defer listener.Close()
		ports = append(ports, port)
	}
	if len(ports) == n {
		return ports, nil
	}
	return nil, fmt.Errorf("found %d free ports of %d between %d and %d on %s: %w", len(ports), n, portLowest, portHighest, loopback, lastErr)
}

func listenTCP(address string) (net.Listener, error) { return net.Listen("tcp", address) }

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
