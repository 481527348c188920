//! Keeps the statistics of PostgreSQL's planner current while tables grow.

use crate::statement::Statement;

/// Analyzes the program's tables that have doubled in size since their last analysis. PostgreSQL
/// itself starts an analysis only once a minute. Until then it treats a table that was just filled
/// as empty, and may choose any index. With the wrong index, a look-up by ids reads all rows of its
/// record kind. Each further part of a large import would then take longer than the part before.
pub(super) static REFRESH: Statement = Statement::new(
    "do $body$
    declare grown regclass;
    begin
        for grown in select c.oid from pg_class c
            where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
            and pg_stat_get_mod_since_analyze(c.oid) >= greatest(1000,
                pg_stat_get_live_tuples(c.oid) / 2)
            and pg_has_role(c.relowner, 'usage')
        loop
            execute format('analyze (skip_locked) %s', grown);
        end loop;
    end $body$",
);
