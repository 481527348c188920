//! A statement for one row, run for many.
//!
//! It is written for one row, `insert into t (a, b) values (?1, ?2) on conflict …` or `update t set b = ?2 where a = ?1 …`. SQLite
//! runs it row by row: nothing lies between the program and the table there. PostgreSQL gets every parameter as an array of what
//! it is in each row, and one statement: `insert into t (a, b) select each.p1, each.p2 from unnest($1::uuid[], $2::text[]) as
//! each (p1, p2) on conflict …`, or `update t set b = each.p2 from unnest(…) as each (p1, p2) where a = each.p1 …`.

/// Rows that go into one statement at the most.
pub(crate) const ROWS: usize = 2_000;

/// The text for many rows, from PostgreSQL's for one and the names of the types of its parameters. `None` where the statement
/// neither inserts `values` nor updates `where`.
pub(crate) fn of_many<'t>(text: &str, types: impl ExactSizeIterator<Item = &'t str>) -> Option<String> {
    let names: Vec<_> = (1..=types.len()).map(|number| format!("p{number}")).collect();
    let arrays: Vec<_> = types.enumerate().map(|(index, name)| format!("${}::{name}[]", index + 1)).collect();
    let each = format!("unnest({}) as each ({})", arrays.join(", "), names.join(", "));
    let text = text.trim_start();
    if text.starts_with("insert into ") {
        let (head, rest) = text.split_once(" values (")?;
        let end = closing(rest)?;
        let (row, tail) = (&rest[..end], &rest[end + 1..]);
        let row = row.replace('$', "each.p");
        return Some(format!("{head} select {row} from {each}{tail}"));
    }
    let (head, rest) = text.strip_prefix("update ")?.split_once("where ")?;
    let [head, rest] = [head.trim_end(), rest].map(|part| part.replace('$', "each.p"));
    Some(format!("update {head} from {each} where {rest}"))
}

/// Where the parenthesis closes that stands open before a text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1_u32;
    text.char_indices().find_map(|(at, letter)| {
        match letter {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_of_one_row_becomes_one_of_many() {
        let one = "insert into t (a, b, c) values ($1, lower($2), 'x') on conflict (a) do update set b = excluded.b";
        assert_eq!(
            of_many(one, ["uuid", "text"].into_iter()).as_deref(),
            Some(
                "insert into t (a, b, c) select each.p1, lower(each.p2), 'x' from unnest($1::uuid[], $2::text[]) as each (p1, p2) \
                 on conflict (a) do update set b = excluded.b"
            )
        );
        assert_eq!(
            of_many("update t set b = $2\n        where a = $1 returning a", ["uuid", "text"].into_iter()).as_deref(),
            Some("update t set b = each.p2 from unnest($1::uuid[], $2::text[]) as each (p1, p2) where a = each.p1 returning a")
        );
        for other in ["update t set a = $1", "insert into t select $1", "delete from t where a = $1"] {
            assert_eq!(of_many(other, ["uuid"].into_iter()), None, "{other}");
        }
    }
}
