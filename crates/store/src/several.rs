//! Inserts of one row each into different tables, run as one statement: PostgreSQL then reads one message for all of them, and
//! answers once.

/// Statements that are run as one at the most, so that those there can be are few.
pub(crate) const AT_ONCE: usize = 4;

/// The table that a statement inserts a row of its parameters into, if that is all it does. Two such of different tables are nothing to each
/// other: neither reads what the other writes.
pub(crate) fn target(text: &str) -> Option<&str> {
    let mut words = text.split_ascii_whitespace();
    let is_insert = words.next() == Some("insert") && words.next() == Some("into");
    let table = words.next().filter(|_| is_insert)?;
    let reads = |word: &str| ["select", "from", "returning"].iter().any(|read| word.trim_start_matches('(') == *read);
    let takes_values = text.split_ascii_whitespace().any(|word| word == "values");
    (takes_values && !words.any(reads)).then_some(table)
}

/// One statement that does what several do. The parameters of each follow those of the one before; each is given with how many it has.
pub(crate) fn of_several<'t>(statements: impl ExactSizeIterator<Item = (&'t str, usize)>) -> String {
    let last = statements.len().saturating_sub(1);
    let (mut whole, mut before) = (String::new(), 0);
    for (number, (text, params)) in statements.enumerate() {
        let text = moved(text.trim(), before);
        let part = match number {
            _ if number == last => format!(" {text}"),
            0 => format!("with part{number} as ({text})"),
            _ => format!(", part{number} as ({text})"),
        };
        whole.push_str(&part);
        before += params;
    }
    whole.trim_start().to_owned()
}

/// A text whose parameters follow so many others.
fn moved(text: &str, before: usize) -> String {
    let mut parts = text.split('$');
    let mut moved = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        let (number, rest) = part.split_at(end);
        let number = number.parse::<usize>().unwrap_or_default() + before;
        moved.extend(["$", &number.to_string(), rest]);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_inserts_are_one_statement() {
        let statements =
            [("insert into a (x, y) values ($1, $2)", 2), ("\n insert into b (x) values ($1)", 1), ("insert into c values ($2, $1)", 2)];
        assert_eq!(
            of_several(statements.into_iter()),
            "with part0 as (insert into a (x, y) values ($1, $2)), part1 as (insert into b (x) values ($3)) insert into c values ($5, $4)"
        );
        assert_eq!(of_several([("insert into a (x) values ($1)", 1)].into_iter()), "insert into a (x) values ($1)");
    }

    #[test]
    fn only_what_inserts_its_parameters_is_one_of_several() {
        assert_eq!(target("insert into a (x)\n values ($1) on conflict (x) do update set x = excluded.x"), Some("a"));
        let others = [
            "insert into a (x) select x from b where y = $1",
            "insert into a (x) values ((select x from b where y = $1))",
            "insert into a (x) values ($1) returning x",
            "update a set x = $1",
            "delete from a where x = $1",
            "select 1",
        ];
        for other in others {
            assert_eq!(target(other), None, "{other}");
        }
    }
}
