"""The steps of a thread's log in Redis that must be atomic: Lua, which the server runs one script at a time.

Each script is given the thread's four keys, all of one hash slot: `head` a hash of `append`, `position` and `payload`;
`events` a stream whose entry `<position>-0` has `append` and `payload`; `rows` a hash of `<position> <payload>` by
name; `row-positions` the same names ordered by position, so that a trim looks at nothing but what it removes.

A script that fails has written nothing: what can refuse it (memory that is full, a replica, a lower position) refuses
its first write.
"""

from __future__ import annotations

KEYS = ("head", "events", "rows", "row-positions")
MOST_ROWS_AT_ONCE = 1000

APPEND = """
local head, events, rows, row_positions = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local known, id, first, count, payload = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local stands = redis.call('HMGET', head, 'append', 'position', 'payload')
if stands[1] == id then return 1 end
if (stands[1] or '') ~= known then
  local there = redis.call('XRANGE', events, first .. '-0', first .. '-0')[1]
  if count > 0 and there and there[2][2] == id then return 1 end
  return stands
end
for at = 6 + count, #ARGV, 4 do
  if ARGV[at + 2] == '1' and redis.call('HEXISTS', rows, ARGV[at]) == 1 then return stands end
end
for n = 1, count do
  redis.call('XADD', events, (first + n - 1) .. '-0', 'append', id, 'payload', ARGV[5 + n])
end
for at = 6 + count, #ARGV, 4 do
  redis.call('HSET', rows, ARGV[at], ARGV[at + 1] .. ' ' .. ARGV[at + 3])
  redis.call('ZADD', row_positions, ARGV[at + 1], ARGV[at])
end
redis.call('HSET', head, 'append', id, 'position', first + count - 1, 'payload', payload)
return 1
"""
"""tag of the known head or '', append id, first position, how many events, head, events..., and of each row its name,
position, '1' if it must be new, payload -> 1 when it stands there, or append id, position and payload of the head."""

TRIM = """
redis.call('XTRIM', KEYS[2], 'MINID', (tonumber(ARGV[1]) + 1) .. '-0')
local names = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
if #names > 0 then
  redis.call('HDEL', KEYS[3], unpack(names))
  redis.call('ZREM', KEYS[4], unpack(names))
end
return #names
"""
"""last position of events, last position of rows, most rows -> how many rows were removed."""

ERASE = """
local events, rows, row_positions, through = KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[1])
redis.call('XTRIM', events, 'MINID', (through + 1) .. '-0')
local kept = redis.call('XRANGE', events, '-', '+')
if #kept > 0 then redis.call('DEL', events) end
for _, entry in ipairs(kept) do redis.call('XADD', events, entry[1], unpack(entry[2])) end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', row_positions, '-inf', through)) do
  redis.call('HSET', rows, name, redis.call('ZSCORE', row_positions, name) .. ' ')
end
"""
"""last position -> nothing.

What stays is written anew: entries share blocks of memory, in which a removed one stands on, and is saved with them,
until the whole block goes.
"""

FORGET = """
if redis.call('HGET', KEYS[1], 'append') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
return 1
"""
"""tag of the known head -> 1 when it was the thread's."""
