package main

import (
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	_ "k8s.io/client-go/tools/leaderelection"
)

func main() { kubernetes.NewForConfig(&rest.Config{}) }
