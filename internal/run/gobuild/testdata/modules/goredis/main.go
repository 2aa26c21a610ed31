package main

import "github.com/go-redis/redis/v8"

func main() { redis.NewClient(&redis.Options{}) }
