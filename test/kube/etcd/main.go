// Command etcd is etcd itself: its server module ships the program as a
// function, and a main of one line is all that a build from modules lacks.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
