-- What reservations and their like change, apart from what is configured.

alter table organization add column stream_revision integer not null default 0;
