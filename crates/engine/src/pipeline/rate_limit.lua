-- One request against both windows, judged as `take` of rate_limit.rs does, in one step for all nodes.
--
-- KEYS[1]  the log of a credential: the moments of its accepted requests, oldest first, in microseconds
-- ARGV[1]  requests a minute, ARGV[2] requests a second; 0 switches a window off
-- ARGV[3]  the moment, where a test says what time it is; otherwise it is this server's, for the nodes' clocks differ
--
-- Answers, in microseconds where it is time: how long until a request may be accepted (0: this one is, and counts), how
-- many count now, and how long until the oldest of them leaves.

local SECOND, MINUTE = 1000000, 60000000
local log = KEYS[1]
local per_minute, per_second = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = per_minute == 0 and SECOND or MINUTE

local now
if ARGV[3] then
  now = tonumber(ARGV[3])
else
  local time = redis.call('TIME')
  now = tonumber(time[1]) * SECOND + tonumber(time[2])
end

local function moment(index)
  return tonumber(redis.call('LINDEX', log, index) or nil)
end

-- A clock that was set back a little stands still until it has caught up; one that was set back by more starts the log
-- anew, or it would refuse for as long as that was.
local last = moment(-1)
if last and last > now then
  if last - now < SECOND then
    now = last
  else
    redis.call('DEL', log)
  end
end

local first = moment(0)
while first and now - first >= kept do
  redis.call('LPOP', log)
  first = moment(0)
end

-- A window is full as long as the request that came as many accepted ones ago as it holds is in it.
local wait = 0
for _, window in ipairs({ { per_minute, MINUTE }, { per_second, SECOND } }) do
  local limit, length = window[1], window[2]
  local bounding = limit > 0 and moment(-limit)
  if bounding and now - bounding < length then
    wait = math.max(wait, bounding + length - now)
  end
end

if wait == 0 then
  redis.call('RPUSH', log, string.format('%.0f', now))
  -- A second more than it matters, so that rounding takes nothing away.
  redis.call('PEXPIRE', log, (kept + SECOND) / 1000)
  first = first or now
end

return { wait, redis.call('LLEN', log), first + kept - now }
