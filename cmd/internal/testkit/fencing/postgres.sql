UPDATE fences SET token = $1 WHERE name = $2 AND token <= $1
