package main

import (
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() { redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{}))) }
