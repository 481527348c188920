//! The unsaved ticks in the list of targets that a resource can be assigned to. The list has
//! several pages, so each form also contains the ticks of the other pages, until the member saves
//! them.

use std::collections::BTreeSet;

use engine::format;

use crate::request::{ConsoleFields, first_value};

/// The ids of the targets to assign, and the ids of the targets to unassign.
#[derive(Default)]
pub struct Selection {
    pub added: BTreeSet<String>,
    pub removed: BTreeSet<String>,
}

impl Selection {
    /// Reads from a form the targets to assign and to unassign: by the checkboxes on the shown
    /// page, and by the hidden fields with unsaved changes of other pages.
    pub fn of(fields: &ConsoleFields) -> Self {
        let all = |name: &str| -> BTreeSet<&str> {
            fields
                .iter()
                .filter(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
                .collect()
        };
        let kept = |name: &str| -> BTreeSet<String> {
            first_value(fields, name)
                .unwrap_or_default()
                .split(',')
                .filter(|id| format::is_uuid(id))
                .map(str::to_owned)
                .collect()
        };
        let mut ticked = Self {
            added: kept("added"),
            removed: kept("removed"),
        };
        let (was, is) = (all("was"), all("assigned"));
        for id in all("shown") {
            ticked.set(id, was.contains(id), is.contains(id));
        }
        ticked
    }

    /// Records whether the member wants the resource to be assigned to the target `id`. `is` is the
    /// member's choice, and `was` is the stored state. If they are equal, the target is neither in
    /// `added` nor in `removed`.
    pub fn set(&mut self, id: &str, was: bool, is: bool) {
        for (changes, is_among) in [
            (&mut self.added, is && !was),
            (&mut self.removed, was && !is),
        ] {
            if is_among {
                changes.insert(id.to_owned());
            } else {
                changes.remove(id);
            }
        }
    }

    /// Ticks every row of the page if `is` is true; otherwise unticks every row.
    pub fn all(mut self, fields: &ConsoleFields, is: bool) -> Self {
        let was: BTreeSet<&String> = fields
            .iter()
            .filter(|(name, _)| name == "was")
            .map(|(_, id)| id)
            .collect();
        for (_, id) in fields.iter().filter(|(name, _)| name == "shown") {
            self.set(id, was.contains(id), is);
        }
        self
    }

    pub fn count(&self) -> usize {
        self.added.len() + self.removed.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 4] = [
        "0192f0c1-2345-7abc-8def-000000000000",
        "0192f0c1-2345-7abc-8def-000000000001",
        "0192f0c1-2345-7abc-8def-000000000002",
        "0192f0c1-2345-7abc-8def-000000000003",
    ];

    fn fields(fields: &[(&str, &str)]) -> ConsoleFields {
        fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn added_and_removed(ticked: &Selection) -> (Vec<&str>, Vec<&str>) {
        (
            ticked.added.iter().map(String::as_str).collect(),
            ticked.removed.iter().map(String::as_str).collect(),
        )
    }

    #[test]
    fn ticks_of_other_pages_are_kept() {
        let [a, b, c, d] = IDS;
        let kept = format!("{a},{b},nonsense");
        let shown = fields(&[
            ("added", &kept),
            ("removed", d),
            ("shown", b),
            ("shown", c),
            ("was", c),
            ("shown", d),
            ("was", d),
            ("assigned", d),
        ]);
        let ticked = Selection::of(&shown);
        // The rows `b`, `c` and `d` are on the page, so their boxes replace the unsaved ticks. The
        // member has unticked `b` and `c`, and has ticked `d` again.
        assert_eq!(added_and_removed(&ticked), (vec![a], vec![c]));
        assert_eq!(
            added_and_removed(&ticked.all(&shown, true)),
            (vec![a, b], vec![])
        );
        assert_eq!(
            added_and_removed(&Selection::of(&shown).all(&shown, false)),
            (vec![a], vec![c, d])
        );
        assert_eq!(
            Selection::of(&fields(&[("added", ""), ("assigned", a)])).count(),
            0
        );
    }
}
