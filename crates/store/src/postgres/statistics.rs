//! What PostgreSQL's planner knows of the tables, while they grow.

use crate::statement::Statement;

/// Looks again at the tables of ours that have doubled since that was done last. PostgreSQL does so by itself once a minute. Until
/// then it takes a table that an organization was just put into for an empty one, where any index is as good as another, and a
/// look-up by ids walks through everything of its kind: an import is slower the more there is already, and so is every page after it.
pub(super) static REFRESH: Statement = Statement::new(
    "do $body$
    declare grown regclass;
    begin
        for grown in select c.oid from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
            and pg_stat_get_mod_since_analyze(c.oid) >= greatest(1000, pg_stat_get_live_tuples(c.oid) / 2)
            and pg_has_role(c.relowner, 'usage')
        loop
            execute format('analyze (skip_locked) %s', grown);
        end loop;
    end $body$",
);
