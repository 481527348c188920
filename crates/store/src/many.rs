//! A statement that inserts one row, run for many.
//!
//! It is written for one row, `insert into t (a, b) values (?1, ?2) on conflict …`. SQLite runs it row by row: nothing lies
//! between the program and the table there. PostgreSQL gets every parameter as an array of what it is in each row, and one
//! statement: `insert into t (a, b) select each.p1, each.p2 from unnest($1::uuid[], $2::text[]) as each (p1, p2) on conflict …`.

/// Rows that go into one statement at the most.
pub(crate) const ROWS: usize = 2_000;

/// The text for many rows, from PostgreSQL's for one and the names of the types of its parameters. `None` where the statement
/// inserts no `values`.
pub(crate) fn of_many<'t>(text: &str, types: impl ExactSizeIterator<Item = &'t str>) -> Option<String> {
    const VALUES: &str = " values (";
    if !text.trim_start().starts_with("insert into ") {
        return None;
    }
    let begin = text.find(VALUES)?;
    let (head, rest) = (&text[..begin], &text[begin + VALUES.len()..]);
    let end = closing(rest)?;
    let (row, tail) = (&rest[..end], &rest[end + 1..]);
    let names: Vec<_> = (1..=types.len()).map(|number| format!("p{number}")).collect();
    let arrays: Vec<_> = types.enumerate().map(|(index, name)| format!("${}::{name}[]", index + 1)).collect();
    let row = row.replace('$', "each.p");
    Some(format!("{head} select {row} from unnest({}) as each ({}){tail}", arrays.join(", "), names.join(", ")))
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
        for other in ["update t set a = $1", "insert into t select $1", "delete from t where a = $1"] {
            assert_eq!(of_many(other, ["uuid"].into_iter()), None, "{other}");
        }
    }
}
