//! Three-way merge of the value that a form showed when it was opened, the stored value, and the
//! typed value. The forms of resources, texts, rules and questions use it.

/// The result of a merge. It determines the value that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeResult {
    /// The stored value does not change. Either the member did not change the value, or the member
    /// typed the value that is stored.
    Stored,
    /// The typed value replaces the stored one, because only the member has changed the value since
    /// the form was opened.
    Typed,
    /// The member must choose between the stored and the typed value. Since the form was opened,
    /// another member has changed the value in a different way than this member.
    Conflict,
}

/// Merges one value. `was` is the value that the form showed when it was opened. `stored` is the
/// value that is stored now. `typed` is the value that the member sent.
pub fn merge<T: PartialEq + ?Sized>(was: &T, stored: &T, typed: &T) -> MergeResult {
    if typed == was || typed == stored {
        MergeResult::Stored
    } else if stored == was {
        MergeResult::Typed
    } else {
        MergeResult::Conflict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concurrent_change_is_not_overwritten_without_a_question() {
        for (was, stored, typed, expected) in [
            ("a", "a", "a", MergeResult::Stored),
            ("a", "b", "a", MergeResult::Stored),
            ("a", "b", "b", MergeResult::Stored),
            ("a", "a", "b", MergeResult::Typed),
            ("a", "b", "c", MergeResult::Conflict),
        ] {
            assert_eq!(
                merge(was, stored, typed),
                expected,
                "{was} {stored} {typed}"
            );
        }
    }
}
