//! Three-way merge: a typed value is compared with the value that the form was opened with, and
//! with the stored value. Values, texts, rules and questions share this rule.

/// The result of the merge for one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeResult {
    /// The stored value stays. The member typed nothing else.
    Stored,
    /// The typed value is written.
    Typed,
    /// Both sides changed the value, to different values. The member chooses.
    Asked,
}

/// Merges one value: `was` is the value that the form was opened with, `stored` the value that is
/// stored now, and `typed` the value that was sent.
pub fn fate<T: PartialEq + ?Sized>(was: &T, stored: &T, typed: &T) -> MergeResult {
    if typed == was || typed == stored {
        MergeResult::Stored
    } else if stored == was {
        MergeResult::Typed
    } else {
        MergeResult::Asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concurrent_change_is_not_overwritten_unasked() {
        for (was, stored, typed, expected) in [
            ("a", "a", "a", MergeResult::Stored),
            ("a", "b", "a", MergeResult::Stored),
            ("a", "b", "b", MergeResult::Stored),
            ("a", "a", "b", MergeResult::Typed),
            ("a", "b", "c", MergeResult::Asked),
        ] {
            assert_eq!(fate(was, stored, typed), expected, "{was} {stored} {typed}");
        }
    }
}
