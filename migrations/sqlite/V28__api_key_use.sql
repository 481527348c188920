-- When a key was last used, to the minute.
alter table api_key add column last_used_at integer;
