//! Turns a statement for one row into a statement for many rows.
//!
//! The program writes `insert into t (a, b) values (?1, ?2) on conflict …` or `update t set b = ?2
//! where a = ?1 …`. SQLite runs the statement once for each row, which costs no round trip.
//! PostgreSQL runs one statement for all rows. Each parameter except the first becomes an array:
//! `insert into t (a, b) select $1::uuid, each.p2 from unnest($2::text[]) as each (p2) on conflict
//! …`, or `update t set b = each.p2 from unnest(…) as each (p2) where a = $1 …`. The first
//! parameter names the owner of the rows and is the same in all of them. It remains a single value,
//! so that a distributed database can route the statement to that owner's server.

/// Maximum number of rows in one statement.
pub(crate) const ROWS: usize = 2_000;

/// Rewrites the PostgreSQL text of a statement for one row into the text for many rows. `types` are
/// the type names of the statement's parameters. Returns `None` if the statement is neither `insert
/// … values` nor `update … where`.
pub(crate) fn of_many<'t>(
    text: &str,
    types: impl ExactSizeIterator<Item = &'t str>,
) -> Option<String> {
    let types: Vec<_> = types.collect();
    let (first, others) = types.split_first()?;
    let names: Vec<_> = (2..=types.len())
        .map(|number| format!("p{number}"))
        .collect();
    let arrays: Vec<_> = others
        .iter()
        .enumerate()
        .map(|(index, name)| format!("${}::{name}[]", index + 2))
        .collect();
    let each = format!(
        "unnest({}) as each ({})",
        arrays.join(", "),
        names.join(", ")
    );
    let text = text.trim_start();
    if others.is_empty() {
        return None;
    }
    if text.starts_with("insert into ") {
        let (head, rest) = text.split_once(" values (")?;
        let end = closing(rest)?;
        let (row, tail) = (&rest[..end], &rest[end + 1..]);
        let row = of_each(row, first);
        return Some(format!("{head} select {row} from {each}{tail}"));
    }
    let (head, rest) = text.strip_prefix("update ")?.split_once("where ")?;
    let [head, rest] = [head.trim_end(), rest].map(|part| of_each(part, first));
    Some(format!("update {head} from {each} where {rest}"))
}

/// Rewrites the parameters in a part of a statement. Parameter 1 stays a parameter, with a cast to
/// the type `first`. Each other parameter becomes a column of `each`, the table that `unnest` makes
/// from the arrays of values.
fn of_each(text: &str, first: &str) -> String {
    let mut parts = text.split('$');
    let mut each = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part
            .strip_prefix('1')
            .filter(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            Some(rest) => each.extend(["$1::", first, rest]),
            None => each.extend(["each.p", part]),
        }
    }
    each
}

/// Returns the index of the `)` that closes a parenthesis opened just before the start of `text`.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1_u32;
    text.char_indices().find_map(|(index, c)| {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_for_a_row_becomes_a_statement_for_many_rows() {
        let one = "insert into t (a, b, c) values ($1, lower($2), 'x') on conflict (a) do update \
            set b = excluded.b";
        assert_eq!(
            of_many(one, ["uuid", "text"].into_iter()).as_deref(),
            Some(
                "insert into t (a, b, c) select $1::uuid, lower(each.p2), 'x' from \
                    unnest($2::text[]) as each (p2) on conflict (a) do update set b = excluded.b"
            )
        );
        assert_eq!(
            of_many(
                "update t set b = $2\n        where a = $1 returning a",
                ["uuid", "text"].into_iter()
            )
            .as_deref(),
            Some(
                "update t set b = each.p2 from unnest($2::text[]) as each (p2) where a = $1::uuid \
                    returning a"
            )
        );
        assert_eq!(of_each("$1 $10 $2", "uuid"), "$1::uuid each.p10 each.p2");
        for other in [
            "update t set a = $1",
            "insert into t select $1",
            "delete from t where a = $1",
        ] {
            assert_eq!(of_many(other, ["uuid"].into_iter()), None, "{other}");
        }
    }
}
