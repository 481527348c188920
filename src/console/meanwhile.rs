//! What two have changed at once: whatever a form writes is held against what the form was opened with and against what is stored by now.
//! The rule is here, for values, for texts, for rules and for questions alike.

/// What becomes of what a form says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// What is stored stays, whoever wrote it: nothing else was typed.
    Stored,
    /// What was typed is written.
    Typed,
    /// Both have written something, each something else: the person chooses.
    Asked,
}

/// Of a form that was opened with `was`, where `stored` is there by now and `typed` was sent.
pub fn fate<T: PartialEq + ?Sized>(was: &T, stored: &T, typed: &T) -> Fate {
    if typed == was || typed == stored {
        Fate::Stored
    } else if stored == was {
        Fate::Typed
    } else {
        Fate::Asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_writes_over_what_they_have_not_seen() {
        for (was, stored, typed, expected) in [
            ("a", "a", "a", Fate::Stored),
            ("a", "b", "a", Fate::Stored),
            ("a", "b", "b", Fate::Stored),
            ("a", "a", "b", Fate::Typed),
            ("a", "b", "c", Fate::Asked),
        ] {
            assert_eq!(fate(was, stored, typed), expected, "{was} {stored} {typed}");
        }
    }
}
