-- Here one file holds every organization: a key that names it first would find nothing sooner.

select 1;
