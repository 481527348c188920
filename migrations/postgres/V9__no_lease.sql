-- SQLite ends its leases for good here. Those of nodes on PostgreSQL run out by themselves.

select 1;
