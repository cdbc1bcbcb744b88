// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

// A page is an object over one connection, then as many in parallel as a
// browser does.
const (
	webPort        = "8080"
	objectSize     = 50_000
	connections    = 6
	objectsOnEach  = 4
	requestSize    = 400
	shortestPause  = 500 * time.Millisecond
	longestPause   = 1500 * time.Millisecond
	objectDeadline = 30 * time.Second
)

// serveWeb answers each request, which names a size, with as many bytes.
func serveWeb(n namespace) error {
	var l net.Listener
	if err := n.do(func() (err error) {
		l, err = net.Listen("tcp4", net.JoinHostPort(serverAddr, webPort))
		return err
	}); err != nil {
		return fmt.Errorf("web server: %w", err)
	}
	go func() {
		object := make([]byte, objectSize)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var request [requestSize]byte
				for {
					if _, err := io.ReadFull(c, request[:]); err != nil {
						return
					}
					size := min(binary.BigEndian.Uint32(request[:]), objectSize)
					if _, err := c.Write(object[:size]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return nil
}

// browse has a station load one page after the other until done is closed. What
// takes too long is lost.
func browse(st *station, to *probe, random *rand.Rand, done <-chan struct{}) {
	for every(shortestPause, longestPause, random, done) {
		number := to.send()
		if err := fetch(st, 1); err != nil {
			continue
		}
		parts := make(chan error)
		for range connections {
			go func() { parts <- fetch(st, objectsOnEach) }()
		}
		var failed error
		for range connections {
			if err := <-parts; err != nil {
				failed = err
			}
		}
		if failed == nil {
			to.arrived(number)
		}
	}
}

// fetch gets objects one after the other over a new connection.
func fetch(st *station, objects int) error {
	var c net.Conn
	d := net.Dialer{Timeout: objectDeadline, LocalAddr: &net.TCPAddr{IP: net.ParseIP(st.addr)}}
	if err := st.do(func() (err error) {
		c, err = d.Dial("tcp4", net.JoinHostPort(serverAddr, webPort))
		return err
	}); err != nil {
		return err
	}
	defer c.Close()
	var request [requestSize]byte
	binary.BigEndian.PutUint32(request[:], objectSize)
	for range objects {
		c.SetDeadline(time.Now().Add(objectDeadline))
		if _, err := c.Write(request[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, c, objectSize); err != nil {
			return err
		}
	}
	return nil
}
