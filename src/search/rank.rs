//! Which names a query finds, and which of them come first (contract: Search).
//!
//! A query and a name are compared [folded](fold), and how they fit is the first of these that holds: see [`Fit`]. The better
//! fit comes first, then the shorter name, then the order of [`FoundType`], then the name, then the id, so that the same names
//! come in the same order wherever they were read from.

use std::collections::BinaryHeap;

use engine::fold::{fold, fold_into};
use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

/// What something found is; among equals, the first of these comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundType {
    PrecheckStep,
    Manual,
    ManualCategory,
    Portal,
    PortalBranding,
    Property,
    PropertyGroup,
    Tag,
}

/// How a name fits a query, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It is the query.
    Exact,
    /// It begins with the query.
    Prefix,
    /// A word of it begins with the query: what stands before is no letter and no digit.
    WordPrefix,
    /// The query stands somewhere in it.
    Substring,
    /// Every word of the query stands somewhere in it.
    Words,
    /// A word of it begins with the query once nothing but letters and digits is left of both: `wifi` and "Wi-Fi".
    RunTogether,
}

/// What is searched for.
#[derive(Debug)]
pub struct Query {
    whole: String,
    words: Vec<String>,
    letters: String,
}

impl Query {
    /// `None` where folding leaves nothing, which every name would contain.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let whole = fold(text);
        let words = whole.split(' ').map(str::to_owned).collect();
        let letters = whole.chars().filter(|letter| letter.is_alphanumeric()).collect();
        (!whole.is_empty()).then_some(Self { whole, words, letters })
    }

    /// How a folded name fits.
    fn fit(&self, name: &str) -> Option<Fit> {
        let Self { whole, words, letters } = self;
        if name.contains(whole.as_str()) {
            return Some(if name.len() == whole.len() {
                Fit::Exact
            } else if name.starts_with(whole.as_str()) {
                Fit::Prefix
            } else if words_like(name, whole).any(|rest| rest.starts_with(whole.as_str())) {
                Fit::WordPrefix
            } else {
                Fit::Substring
            });
        }
        if words.len() > 1 && words.iter().all(|word| name.contains(word.as_str())) {
            return Some(Fit::Words);
        }
        words_like(name, letters).any(|rest| runs_into(rest, letters)).then_some(Fit::RunTogether)
    }
}

/// The rest of a name from each word on that begins with the same letter as `wanted`; a word begins behind whatever is no
/// letter and no digit. The letter is looked for first: what it is that stands before takes a table to tell.
fn words_like<'n>(name: &'n str, wanted: &str) -> impl Iterator<Item = &'n str> {
    let places = wanted.chars().next().into_iter().flat_map(|first| name.match_indices(first));
    let begins_word = |at: usize| !name[..at].ends_with(char::is_alphanumeric);
    places.filter(move |(at, _)| begins_word(*at)).map(|(at, _)| &name[at..])
}

fn runs_into(rest: &str, letters: &str) -> bool {
    let mut there = rest.chars().filter(|letter| letter.is_alphanumeric());
    letters.chars().all(|letter| there.next() == Some(letter))
}

/// Something that was found. What decides the order stands first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// How it fits.
    pub fit: Fit,
    /// Characters of its name.
    pub length: usize,
    /// What it is.
    pub found_type: FoundType,
    /// Its name as it is written.
    pub name: String,
    /// Which one.
    pub id: Uuid,
}

/// The best of whatever is offered, as many as are asked for.
#[derive(Debug)]
pub struct Best {
    query: Query,
    limit: usize,
    /// The worst on top.
    hits: BinaryHeap<Hit>,
    /// Where names are folded, one after another.
    folded: String,
}

impl Best {
    /// Nothing yet.
    #[must_use]
    pub fn new(query: Query, limit: usize) -> Self {
        Self { query, limit, hits: BinaryHeap::with_capacity(limit.saturating_add(1)), folded: String::new() }
    }

    /// Offers something under its name and whatever else it is known as: the best fit counts, and the order is by its name.
    /// Whether the caller `may_see` it is asked only of what would be among the best.
    pub fn offer(&mut self, found_type: FoundType, id: Uuid, name: &str, also: Option<&str>, may_see: impl FnOnce() -> bool) {
        let fits = [Some(name), also].into_iter().flatten().filter_map(|text| {
            fold_into(text, &mut self.folded);
            self.query.fit(&self.folded)
        });
        let Some(fit) = fits.min() else { return };
        let length = name.chars().count();
        if self.hits.len() >= self.limit
            && let Some(worst) = self.hits.peek()
            && (worst.fit, worst.length, worst.found_type, worst.name.as_str(), worst.id) <= (fit, length, found_type, name, id)
        {
            return;
        }
        if may_see() {
            self.hits.push(Hit { fit, length, found_type, name: name.to_owned(), id });
            if self.hits.len() > self.limit {
                self.hits.pop();
            }
        }
    }

    /// What was found, the best first.
    #[must_use]
    pub fn into_sorted(self) -> Vec<Hit> {
        self.hits.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fit(query: &str, name: &str) -> Option<Fit> {
        Query::new(query)?.fit(&fold(name))
    }

    #[test]
    fn the_first_that_holds_says_how_a_name_fits() {
        for (query, name, expected) in [
            ("azul", "AZUL", Some(Fit::Exact)),
            ("azul", " Azúl ", Some(Fit::Exact)),
            ("azul", "Azulejos", Some(Fit::Prefix)),
            ("azul", "Casa Azul", Some(Fit::WordPrefix)),
            ("azul", "Casa (azulada)", Some(Fit::WordPrefix)),
            ("azul", "Casa-Azul", Some(Fit::WordPrefix)),
            // The second place overlaps the first, which is not where a word begins.
            ("a a", "ba a a", Some(Fit::WordPrefix)),
            ("azul", "Grazul", Some(Fit::Substring)),
            ("azul casa", "La casa azul", Some(Fit::Words)),
            ("zul asa", "La casa azul", Some(Fit::Words)),
            ("casa  azul", "La casa azul", Some(Fit::WordPrefix)),
            ("wifi", "Wi-Fi", Some(Fit::RunTogether)),
            ("lamorada", "Piso La Móràda", Some(Fit::RunTogether)),
            ("wi-fi", "Free WiFi", Some(Fit::RunTogether)),
            ("amorada", "La Móràda", None),
            ("azul verde", "La casa azul", None),
            ("-", "Casa Azul", None),
            ("azul", "", None),
            ("\u{301}", "", None),
        ] {
            assert_eq!(fit(query, name), expected, "{query} in {name}");
        }
    }

    #[test]
    fn equals_come_by_length_then_type_then_name_then_id() {
        let mut best = Best::new(Query::new("azul").unwrap(), 9);
        for (found_type, name, id) in [
            (FoundType::Tag, "Azul b", 1),
            (FoundType::Property, "Azul b", 3),
            (FoundType::Property, "Azul b", 2),
            (FoundType::Property, "Azul a", 9),
            (FoundType::Manual, "Azul z", 5),
            (FoundType::Tag, "Azul", 8),
            (FoundType::PrecheckStep, "Azul zz", 4),
            (FoundType::PrecheckStep, "Verde", 6),
        ] {
            best.offer(found_type, Uuid::from_u128(id), name, None, || true);
        }
        let ids: Vec<_> = best.into_sorted().iter().map(|hit| hit.id.as_u128()).collect();
        assert_eq!(ids, [8, 5, 9, 2, 3, 1, 4]);
    }

    #[test]
    fn the_better_of_two_names_counts_and_the_own_one_is_told() {
        let mut best = Best::new(Query::new("deposit").unwrap(), 2);
        best.offer(FoundType::PrecheckStep, Uuid::from_u128(1), "Kaution", Some("Deposit"), || true);
        best.offer(FoundType::PrecheckStep, Uuid::from_u128(2), "Deposits", Some("Money"), || true);
        best.offer(FoundType::PrecheckStep, Uuid::from_u128(3), "Kaution", Some("Money"), || true);
        let found: Vec<_> = best.into_sorted().into_iter().map(|hit| (hit.fit, hit.name)).collect();
        assert_eq!(found, [(Fit::Exact, "Kaution".to_owned()), (Fit::Prefix, "Deposits".to_owned())]);
    }

    /// The six fits read literally, on lists of letters.
    fn literal_fit(query: &str, name: &str) -> Option<Fit> {
        let letters = |text: &str| fold(text).chars().collect::<Vec<_>>();
        let (query, name) = (letters(query), letters(name));
        let places = |part: &[char]| (0..=name.len()).filter(|at| name[*at..].starts_with(part)).collect::<Vec<_>>();
        let begins_word = |at: &usize| *at == 0 || !name[at - 1].is_alphanumeric();
        let run_together = |text: &[char]| text.iter().copied().filter(|letter| letter.is_alphanumeric()).collect::<Vec<_>>();
        let holds = [
            (Fit::Exact, name == query),
            (Fit::Prefix, places(&query).contains(&0)),
            (Fit::WordPrefix, places(&query).iter().any(begins_word)),
            (Fit::Substring, !places(&query).is_empty()),
            (Fit::Words, query.split(|letter| *letter == ' ').all(|word| !places(word).is_empty())),
            (
                Fit::RunTogether,
                !run_together(&query).is_empty()
                    && (0..name.len()).filter(begins_word).any(|at| run_together(&name[at..]).starts_with(&run_together(&query))),
            ),
        ];
        if query.is_empty() { None } else { holds.into_iter().find(|(_, holds)| *holds).map(|(fit, _)| fit) }
    }

    fn names() -> impl Strategy<Value = String> {
        "[aAáb\u{301}ßsœØ1 -]{0,7}"
    }

    fn types() -> impl Strategy<Value = FoundType> {
        use FoundType::{Manual, ManualCategory, Portal, PortalBranding, PrecheckStep, Property, PropertyGroup, Tag};
        prop::sample::select(vec![PrecheckStep, Manual, ManualCategory, Portal, PortalBranding, Property, PropertyGroup, Tag])
    }

    proptest! {
        #[test]
        fn a_name_fits_as_the_list_reads(query in names(), name in names()) {
            prop_assert_eq!(fit(&query, &name), literal_fit(&query, &name));
        }

        #[test]
        fn the_best_are_the_first_of_all_in_order(
            query in "[abß1 -]{0,2}[abß1]",
            offered in prop::collection::vec((types(), names(), prop::option::of(names()), 0..4_u128, any::<bool>()), 0..40),
            limit in 1..8_usize,
        ) {
            let mut best = Best::new(Query::new(&query).unwrap(), limit);
            let mut all = Vec::new();
            for (found_type, name, also, id, is_visible) in offered {
                let id = Uuid::from_u128(id);
                best.offer(found_type, id, &name, also.as_deref(), || is_visible);
                let fits = [literal_fit(&query, &name), also.and_then(|also| literal_fit(&query, &also))];
                if let (Some(fit), true) = (fits.into_iter().flatten().min(), is_visible) {
                    all.push(Hit { fit, length: name.chars().count(), found_type, name, id });
                }
            }
            all.sort_by(|one, other| {
                let by_type = one.fit.cmp(&other.fit).then(one.length.cmp(&other.length)).then(one.found_type.cmp(&other.found_type));
                by_type.then_with(|| one.name.cmp(&other.name)).then(one.id.cmp(&other.id))
            });
            all.truncate(limit);
            prop_assert_eq!(best.into_sorted(), all);
        }
    }
}
