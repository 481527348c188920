//! Three-way merge of a typed value with the value that the form was opened with and the stored
//! value. The forms of resources, texts, rules and questions use it.

/// The result of the merge for one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeResult {
    /// The stored value stays. The member did not change the value, or typed the stored value.
    Stored,
    /// The typed value is written. Only the member changed the value.
    Typed,
    /// The member must choose. The member and somebody else changed the value in different ways.
    Conflict,
}

/// Merges one value. `was` is the value that the form was opened with. `stored` is the stored
/// value, and `typed` is the submitted value.
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
