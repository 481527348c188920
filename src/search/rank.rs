//! Which names a query finds, and which of them come first (contract: Search).
//!
//! A query and a name are compared [folded](fold), hyphens left out where either has some, and how they fit is the first of these
//! that holds: see [`Fit`]. A word of the query that only says what sort of thing is meant ([`FoundType::is_called`]) is a hint: of
//! that sort the other words are looked for. What is not of a sort that is hinted at, and fits those other words alone, comes last.
//! The better fit comes first, then the shorter name, then the order of [`FoundType`], then the name, then the id, so that the same
//! names come in the same order wherever they were read from.

use std::borrow::Cow;
use std::collections::BinaryHeap;

use engine::fold::{fold, fold_into};
use schemars::JsonSchema;
use serde::Serialize;
use strum::VariantArray;
use uuid::Uuid;

/// What something found is; among equals, the first of these comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, VariantArray)]
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
    Reservation,
}

impl FoundType {
    /// Whether a folded word is what such things are called, rather than what one of them is.
    fn is_called(self, word: &str) -> bool {
        let words: &[&str] = match self {
            Self::PrecheckStep => &["step", "precheck", "pre-check-in", "precheckin"],
            Self::Manual => &["manual", "guide", "instruction"],
            Self::ManualCategory => &["category", "categorie", "heading", "manual"],
            Self::Portal => &["portal"],
            Self::PortalBranding => &["branding", "portal"],
            Self::Property => &["property", "propertie", "flat", "apartment", "house", "listing"],
            Self::PropertyGroup => &["group", "property"],
            Self::Tag => &["tag"],
            Self::Reservation => &["reservation", "booking", "stay", "guest"],
        };
        words.contains(&word.strip_suffix('s').unwrap_or(word))
    }
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
    /// A word of it begins with the query once nothing but letters and digits is left of both: `lamorada` and "La Morada".
    RunTogether,
}

/// Words that are searched for.
#[derive(Debug)]
pub struct Query {
    plain: Terms,
    /// Without its hyphens, for names that have some; the same where it has none. Nothing where it is hyphens alone.
    joined: Option<Terms>,
}

/// A text that is looked for, in the ways in which it is.
#[derive(Debug)]
struct Terms {
    whole: String,
    words: Vec<String>,
    letters: String,
}

impl Query {
    /// `None` where folding leaves nothing, which every name would contain.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::of_folded(fold(text))
    }

    fn of_folded(whole: String) -> Option<Self> {
        let joined = Terms::of(without_hyphens(&whole).into_owned());
        Terms::of(whole).map(|plain| Self { plain, joined })
    }

    /// The same without the words that say what sort of thing is meant; `None` where there are none, or nothing else.
    fn without(&self, is_hint: impl Fn(&str) -> bool) -> Option<Self> {
        let rest: Vec<&str> = self.plain.words.iter().map(String::as_str).filter(|word| !is_hint(word)).collect();
        if rest.len() == self.plain.words.len() { None } else { Self::of_folded(rest.join(" ")) }
    }

    /// What is searched for, folded.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.plain.whole
    }

    /// How a folded name fits.
    fn fit(&self, name: &str) -> Option<Fit> {
        let plain = self.plain.fit(name);
        if !name.contains(is_hyphen) && !self.plain.whole.contains(is_hyphen) {
            return plain;
        }
        let joined = self.joined.as_ref().and_then(|terms| terms.fit(&without_hyphens(name)));
        [plain, joined].into_iter().flatten().min()
    }
}

impl Terms {
    /// `None` where there is nothing to look for.
    fn of(whole: String) -> Option<Self> {
        let words = whole.split(' ').map(str::to_owned).collect();
        let letters = whole.chars().filter(|letter| letter.is_alphanumeric()).collect();
        (!whole.is_empty()).then_some(Self { whole, words, letters })
    }

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

/// What joins the parts of a word, as it is typed or set.
const fn is_hyphen(letter: char) -> bool {
    matches!(letter, '-' | '\u{ad}' | '\u{2010}'..='\u{2013}')
}

fn without_hyphens(text: &str) -> Cow<'_, str> {
    if text.contains(is_hyphen) { Cow::Owned(text.replace(is_hyphen, "")) } else { Cow::Borrowed(text) }
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
    /// Whether it is of another sort than the query hints at.
    pub is_aside: bool,
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
    /// What is left of the query for a sort of thing that it hints at.
    hinted: Vec<(FoundType, Query)>,
    /// What is left of it for all other sorts.
    rest: Option<Query>,
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
        let of = |sort: &FoundType| query.without(|word| sort.is_called(word)).map(|rest| (*sort, rest));
        Self {
            hinted: FoundType::VARIANTS.iter().filter_map(of).collect(),
            rest: query.without(|word| FoundType::VARIANTS.iter().any(|sort| sort.is_called(word))),
            query,
            limit,
            hits: BinaryHeap::with_capacity(limit.saturating_add(1)),
            folded: String::new(),
        }
    }

    /// What is searched for among things of a sort.
    #[must_use]
    pub fn wanted(&self, found_type: FoundType) -> &Query {
        self.hinted.iter().find(|(sort, _)| *sort == found_type).map_or(&self.query, |(_, rest)| rest)
    }

    /// How a name fits, and whether only by what is left of a query that hints at things of another sort.
    fn fit(&mut self, found_type: FoundType, text: &str) -> Option<(bool, Fit)> {
        fold_into(text, &mut self.folded);
        let hinted = self.hinted.iter().find(|(sort, _)| *sort == found_type).map(|(_, rest)| rest);
        let wanted = [Some(&self.query), hinted].into_iter().flatten();
        let fit = wanted.filter_map(|query| query.fit(&self.folded)).min().map(|fit| (false, fit));
        fit.or_else(|| self.rest.as_ref()?.fit(&self.folded).map(|fit| (true, fit)))
    }

    /// Offers something under its name and whatever else it is known as: the best fit counts, and the order is by its name.
    /// Whether the caller `may_see` it is asked only of what would be among the best.
    pub fn offer(&mut self, found_type: FoundType, id: Uuid, name: &str, also: Option<&str>, may_see: impl FnOnce() -> bool) {
        let fits = [Some(name), also].into_iter().flatten().filter_map(|text| self.fit(found_type, text));
        let Some((is_aside, fit)) = fits.min() else { return };
        let length = name.chars().count();
        if self.hits.len() >= self.limit
            && let Some(worst) = self.hits.peek()
            && (worst.is_aside, worst.fit, worst.length, worst.found_type, worst.name.as_str(), worst.id)
                <= (is_aside, fit, length, found_type, name, id)
        {
            return;
        }
        if may_see() {
            self.hits.push(Hit { is_aside, fit, length, found_type, name: name.to_owned(), id });
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
            ("wifi", "Wi-Fi", Some(Fit::Exact)),
            ("wi\u{2011}fi", "Wi-Fi", Some(Fit::Exact)),
            ("wi-fi", "WiFi upstairs", Some(Fit::Prefix)),
            ("lamorada", "Piso La Móràda", Some(Fit::RunTogether)),
            ("wi-fi", "Free WiFi", Some(Fit::WordPrefix)),
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

    #[test]
    fn a_word_for_the_sort_of_thing_is_a_hint() {
        let mut best = Best::new(Query::new("Eixample group").unwrap(), 9);
        for (found_type, name, id) in [
            (FoundType::Property, "Eixample flat", 1),
            (FoundType::PropertyGroup, "Gràcia", 2),
            (FoundType::PropertyGroup, "Eixample", 3),
            (FoundType::Tag, "Group of the Eixample", 4),
        ] {
            best.offer(found_type, Uuid::from_u128(id), name, None, || true);
        }
        let found: Vec<_> = best.into_sorted().iter().map(|hit| (hit.id.as_u128(), hit.fit, hit.is_aside)).collect();
        assert_eq!(found, [(3, Fit::Exact, false), (4, Fit::Words, false), (1, Fit::Prefix, true)]);
    }

    /// A fit read literally, with the hyphens and without.
    fn literal_fit(query: &str, name: &str) -> Option<Fit> {
        let (query, name) = (fold(query), fold(name));
        let without = |text: &str| text.replace(is_hyphen, "");
        [literal_plain(&query, &name), literal_plain(&without(&query), &without(&name))].into_iter().flatten().min()
    }

    /// The six fits read literally, on lists of letters.
    fn literal_plain(query: &str, name: &str) -> Option<Fit> {
        let (query, name): (Vec<char>, Vec<char>) = (query.chars().collect(), name.chars().collect());
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
                    all.push(Hit { is_aside: false, fit, length: name.chars().count(), found_type, name, id });
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
