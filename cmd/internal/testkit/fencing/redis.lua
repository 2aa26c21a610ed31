if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[1]) or 0) then
  return redis.error_reply('LATE the lock was granted again')
end
redis.call('SET', KEYS[1], ARGV[1])
return redis.call(unpack(ARGV, 2))
