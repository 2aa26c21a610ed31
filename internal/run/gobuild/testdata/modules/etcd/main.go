package main

import (
	clientv3 "go.etcd.io/etcd/client/v3"
	_ "go.etcd.io/etcd/client/v3/concurrency"
)

func main() { clientv3.New(clientv3.Config{}) }
