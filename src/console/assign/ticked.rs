//! What is ticked of rows that come in pages: it goes along from one to the next until it is saved.

use std::collections::BTreeSet;

use engine::format;

use crate::console::visit::{Fields, first};

/// What is to be assigned that was not, and what is to be taken back.
#[derive(Default)]
pub struct Ticked {
    pub added: BTreeSet<String>,
    pub removed: BTreeSet<String>,
}

impl Ticked {
    /// What was ticked in a form: on the page that was shown, and before on others.
    pub fn of(fields: &Fields) -> Self {
        let all =
            |name: &str| -> BTreeSet<&str> { fields.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect() };
        let kept = |name: &str| -> BTreeSet<String> {
            first(fields, name).unwrap_or_default().split(',').filter(|id| format::is_uuid(id)).map(str::to_owned).collect()
        };
        let mut ticked = Self { added: kept("added"), removed: kept("removed") };
        let (was, is) = (all("was"), all("assigned"));
        for id in all("shown") {
            ticked.set(id, was.contains(id), is.contains(id));
        }
        ticked
    }

    /// That something is to be assigned or not, which was or was not.
    pub fn set(&mut self, id: &str, was: bool, is: bool) {
        for (changes, is_among) in [(&mut self.added, is && !was), (&mut self.removed, was && !is)] {
            if is_among {
                changes.insert(id.to_owned());
            } else {
                changes.remove(id);
            }
        }
    }

    /// The same with everything ticked that the page shows, or nothing of it.
    pub fn all(mut self, fields: &Fields, is: bool) -> Self {
        let was: BTreeSet<&String> = fields.iter().filter(|(name, _)| name == "was").map(|(_, id)| id).collect();
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

    fn fields(fields: &[(&str, &str)]) -> Fields {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn said(ticked: &Ticked) -> (Vec<&str>, Vec<&str>) {
        (ticked.added.iter().map(String::as_str).collect(), ticked.removed.iter().map(String::as_str).collect())
    }

    #[test]
    fn what_was_ticked_on_other_pages_goes_along() {
        let [a, b, c, d] = IDS;
        let kept = format!("{a},{b},nonsense");
        let shown =
            fields(&[("added", &kept), ("removed", d), ("shown", b), ("shown", c), ("was", c), ("shown", d), ("was", d), ("assigned", d)]);
        let ticked = Ticked::of(&shown);
        // Of what is shown, the boxes say it: one is unticked again, one taken back, one left alone.
        assert_eq!(said(&ticked), (vec![a], vec![c]));
        assert_eq!(said(&ticked.all(&shown, true)), (vec![a, b], vec![]));
        assert_eq!(said(&Ticked::of(&shown).all(&shown, false)), (vec![a], vec![c, d]));
        assert_eq!(Ticked::of(&fields(&[("added", ""), ("assigned", a)])).count(), 0);
    }
}
