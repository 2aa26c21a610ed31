UPDATE fences SET token = ? WHERE name = ? AND token <= ?
