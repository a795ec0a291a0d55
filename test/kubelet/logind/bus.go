//go:build linux

package logind

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/godbus/dbus/v5"
)

// client is somebody on the bus.
type client struct {
	connection *net.UnixConn
	in         *bufio.Reader

	mu     sync.Mutex
	serial uint32 // of the last message that we sent
}

// serve answers whom it is connected with, until that hangs up.
func (l *Logind) serve(connection *net.UnixConn) {
	c := &client{connection: connection, in: bufio.NewReader(connection)}
	defer connection.Close()
	if err := c.welcome(); err != nil {
		return
	}
	l.mu.Lock()
	l.clients[c] = true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.clients, c)
	}()
	for {
		call, err := dbus.DecodeMessage(c.in)
		if err != nil {
			return
		}
		if err := l.answer(c, call); err != nil {
			return
		}
	}
}

// welcome is the talk before the first message. The socket's folder says who may
// come, so everybody who does is believed.
func (c *client) welcome() error {
	if _, err := c.in.ReadByte(); err != nil { // it begins with a zero
		return err
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return err
		}
		answer := "ERROR"
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case words[0] == "BEGIN":
			return nil
		case words[0] == "NEGOTIATE_UNIX_FD":
			answer = "AGREE_UNIX_FD"
		case words[0] == "AUTH" && len(words) > 1 && words[1] == "EXTERNAL", words[0] == "DATA":
			answer = "OK 00000000000000000000000000000001" // whatever the bus is called
		case words[0] == "AUTH":
			answer = "REJECTED EXTERNAL"
		}
		if _, err := c.connection.Write([]byte(answer + "\r\n")); err != nil {
			return err
		}
	}
}

// answer answers a call, of the bus itself or of logind.
func (l *Logind) answer(c *client, call *dbus.Message) error {
	if call.Type != dbus.TypeMethodCall {
		return nil
	}
	name := fmt.Sprintf("%v.%v", call.Headers[dbus.FieldInterface].Value(), call.Headers[dbus.FieldMember].Value())
	reply := map[dbus.HeaderField]any{dbus.FieldReplySerial: call.Serial()}
	switch name {
	case "org.freedesktop.DBus.Hello":
		return c.send(dbus.TypeMethodReply, reply, ":1.1")
	case "org.freedesktop.DBus.AddMatch": // they hear all there is anyway
		return c.send(dbus.TypeMethodReply, reply)
	case "org.freedesktop.DBus.Properties.Get":
		if len(call.Body) == 2 && call.Body[0] == manager && call.Body[1] == delayMax {
			return c.send(dbus.TypeMethodReply, reply, dbus.MakeVariant(uint64(longestDelay.Microseconds())))
		}
	case manager + ".Inhibit":
		theirs, err := l.inhibit()
		if err != nil {
			return err
		}
		defer theirs.Close() // they have it by then
		return c.send(dbus.TypeMethodReply, reply, theirs)
	}
	reply[dbus.FieldErrorName] = "org.freedesktop.DBus.Error.UnknownMethod"
	return c.send(dbus.TypeError, reply, fmt.Sprintf("%s %v is nothing that this logind knows", name, call.Body))
}

// send sends a message. A file is sent as itself.
func (c *client) send(kind dbus.Type, headers map[dbus.HeaderField]any, body ...any) error {
	message := &dbus.Message{Type: kind, Headers: map[dbus.HeaderField]dbus.Variant{}, Body: body}
	for i, part := range body {
		if file, ok := part.(*os.File); ok {
			body[i], headers[dbus.FieldUnixFDs] = dbus.UnixFD(file.Fd()), uint32(1)
		}
	}
	for field, value := range headers { //order:any of headers
		message.Headers[field] = dbus.MakeVariant(value)
	}
	if len(body) > 0 {
		message.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	var raw bytes.Buffer
	files, err := message.EncodeToWithFDs(&raw, binary.LittleEndian)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The library numbers only what it sends itself.
	c.serial++
	binary.LittleEndian.PutUint32(raw.Bytes()[8:], c.serial)
	var rights []byte
	if len(files) > 0 {
		rights = syscall.UnixRights(files...)
	}
	_, _, err = c.connection.WriteMsgUnix(raw.Bytes(), rights, nil)
	return err
}
