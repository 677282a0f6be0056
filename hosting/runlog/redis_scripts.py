"""The steps of the Redis run log that must be atomic: Lua, which Redis runs one at a time.

Keys, all of one hash slot: `run:<id>` a stream whose entry `<position>-0` has `body`, and at position 1 `place`;
`erased:<id>` what is left of a deleted run; `receipt:<digest>` the id of its run; `runs:<place>` the ids of a thread by
time; `open:<place>` those that have not ended; `mark:<place>` the thread's deletion; `cancels` the ids to cancel.

Each script gets the common prefix as its one key and makes the others' names from it.
"""

from __future__ import annotations

OPEN = """
local place, run, at, body, receipt, most = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
if receipt ~= '' then run = redis.call('GET', KEYS[1] .. 'receipt:' .. receipt) or run end
if redis.call('EXISTS', KEYS[1] .. 'erased:' .. run) == 1 then return {'erased', run} end
local log = KEYS[1] .. 'run:' .. run
if redis.call('EXISTS', log) == 1 then return {'found', run, redis.call('XRANGE', log, '-', '+')} end
local mark = redis.call('GET', KEYS[1] .. 'mark:' .. place)
if mark and cjson.decode(mark)['digest'] == nil then return {'deleting'} end
local open = redis.call('SCARD', KEYS[1] .. 'open:' .. place)
if most >= 0 and open >= most then return {'full', open} end
redis.call('XADD', log, '1-0', 'body', body, 'place', place)
redis.call('ZADD', KEYS[1] .. 'runs:' .. place, at, run)
redis.call('SADD', KEYS[1] .. 'open:' .. place, run)
if receipt ~= '' then redis.call('SET', KEYS[1] .. 'receipt:' .. receipt, run) end
return {'opened', run}
"""
"""place, run id, time, first event, digest of the receipt or '', most open runs or -1 -> outcome, run id, events."""

APPEND = """
local run, after, ends, cancels = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4] == '1'
local log = KEYS[1] .. 'run:' .. run
if after == 0 or #ARGV == 4 then return 0 end
if redis.call('XLEN', log) ~= after then
  local held = redis.call('XRANGE', log, (after + 1) .. '-0', (after + #ARGV - 4) .. '-0')
  if #held ~= #ARGV - 4 then return 0 end
  for index, entry in ipairs(held) do if entry[2][2] ~= ARGV[index + 4] then return 0 end end
  return 1
end
for index = 5, #ARGV do redis.call('XADD', log, (after + index - 4) .. '-0', 'body', ARGV[index]) end
if cancels then redis.call('SADD', KEYS[1] .. 'cancels', run) end
if ends then
  local place = redis.call('XRANGE', log, '1-0', '1-0')[1][2][4]
  redis.call('SREM', KEYS[1] .. 'open:' .. place, run)
  redis.call('SREM', KEYS[1] .. 'cancels', run)
end
return 1
"""
"""run id, position, whether a terminal event is among them, whether a wish to cancel is, events... -> 1 when done.

Done also when exactly these events stand there: the client repeats a step whose answer was lost.
"""

MARK = """
local key = KEYS[1] .. 'mark:' .. ARGV[1]
local mark = redis.call('GET', key)
if mark and cjson.decode(mark)['digest'] == nil then return mark end
redis.call('SET', key, ARGV[2])
return ARGV[2]
"""
"""place, mark -> the mark that stands."""

ERASE = """
local runs, open = KEYS[1] .. 'runs:' .. ARGV[1], KEYS[1] .. 'open:' .. ARGV[1]
if ARGV[3] == '1' and redis.call('SCARD', open) > 0 then return false end
local mark, stands = cjson.decode(ARGV[2]), redis.call('GET', KEYS[1] .. 'mark:' .. ARGV[1])
local erased = redis.call('ZRANGE', runs, 0, -1)
if #erased == 0 and stands then
  local done = cjson.decode(stands)
  if done['id'] == mark['id'] and done['digest'] then return stands end
end
for _, run in ipairs(erased) do
  redis.call('DEL', KEYS[1] .. 'run:' .. run)
  redis.call('SET', KEYS[1] .. 'erased:' .. run, '1')
  redis.call('SREM', KEYS[1] .. 'cancels', run)
end
redis.call('DEL', runs, open)
if #erased > 0 then mark['runs'] = #erased end
redis.call('SET', KEYS[1] .. 'mark:' .. ARGV[1], cjson.encode(mark))
return cjson.encode(mark)
"""
"""place, mark, '1' to erase nothing while a run is open -> the mark that stands, or nothing when nothing was done.

Done a second time, because its answer was lost, it says what it said.
"""

SETTLE = """
local key = KEYS[1] .. 'mark:' .. ARGV[1]
local mark = redis.call('GET', key)
if mark and cjson.decode(mark)['id'] == ARGV[2] then redis.call('SET', key, ARGV[3]) end
"""
"""place, id of the deletion, mark with its receipt -> nothing."""

EXPIRE = """
local runs, open, done = KEYS[1] .. 'runs:' .. ARGV[1], KEYS[1] .. 'open:' .. ARGV[1], 0
for _, run in ipairs(redis.call('ZRANGEBYSCORE', runs, '-inf', '(' .. ARGV[2])) do
  if done >= tonumber(ARGV[3]) then break end
  if redis.call('SISMEMBER', open, run) == 0 then
    redis.call('SET', KEYS[1] .. 'erased:' .. run, '1')
    redis.call('DEL', KEYS[1] .. 'run:' .. run)
    redis.call('ZREM', runs, run)
    done = done + 1
  end
end
return done
"""
"""place, time, most runs -> how many of the thread's ended runs from before that time were removed."""
